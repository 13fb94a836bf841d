import pytest

from shop.price import total


def test_sum(prices):
    assert total(prices) == 350


class TestDiscount:
    @pytest.mark.parametrize("discount, expected", [(0, 350), (50, 175)])
    def test_discount(self, prices, discount, expected):
        assert total(prices, discount) == expected

    def test_wrong(self, prices):
        assert total(prices, 10) == 999


def test_set_up(broken):
    pass


@pytest.mark.skip(reason="later")
def test_later():
    pass


@pytest.mark.xfail(reason="known")
def test_known():
    assert total([]) == 1
