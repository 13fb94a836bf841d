import pytest

from shop.price import shipping, shown, total


def test_total_adds_items():
    assert total([(2, 150), (1, 99)]) == 399


def test_total_takes_the_discount_off():
    assert total([(1, 1000)], discount=25) == 750


@pytest.mark.parametrize("discount", [-1, 101])
def test_total_refuses_discounts_that_make_no_sense(discount):
    with pytest.raises(ValueError, match="makes no sense"):
        total([(1, 1000)], discount=discount)


def test_total_bears_the_ends_of_the_range():
    assert total([(1, 1000)], discount=0) == 1000
    assert total([(1, 1000)], discount=100) == 0


def test_shipping_is_free_for_large_orders():
    assert shipping(5000) == 0
    assert shipping(5000, express=True) == 499


def test_shipping_of_small_orders_costs():
    assert shipping(4999) == 499
    assert shipping(4999, express=True) == 999


def test_prices_are_shown_with_two_decimals():
    assert shown(1905) == "19.05 EUR"
    assert shown(-5, "USD") == "-0.05 USD"
