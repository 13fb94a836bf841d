import pytest

from shop.stock import Stock


def test_what_is_added_can_be_taken():
    stock = Stock()
    stock.add("tea", 3)
    assert stock.take("tea", 2) == 1
    assert stock.names() == ["tea"]
    assert stock.take("tea") == 0
    assert stock.names() == []


def test_taking_more_than_there_is_fails():
    stock = Stock()
    stock.add("tea")
    with pytest.raises(LookupError, match="only 1 of tea left"):
        stock.take("tea", 2)


def test_adding_nothing_fails():
    with pytest.raises(ValueError, match="at least one"):
        Stock().add("tea", 0)
