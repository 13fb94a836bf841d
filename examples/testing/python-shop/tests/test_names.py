from shop.stock import Stock


def test_names_are_sorted():
    stock = Stock()
    stock.add("tea")
    stock.add("cups")
    assert stock.names() == ["cups", "tea"]
