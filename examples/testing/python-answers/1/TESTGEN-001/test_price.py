from shop.price import shipping, total


def test_total_adds_items():
    assert total([(2, 150), (1, 99)]) == 399


def test_total_takes_the_discount_off():
    assert total([(1, 1000)], discount=25) == 750


def test_shipping_is_free_for_large_orders():
    assert shipping(5000) == 0


def test_shipping_of_small_orders_costs():
    assert shipping(4999) == 599
