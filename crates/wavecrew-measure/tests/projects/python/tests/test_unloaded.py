from shop.price import no_such_name


def test_nothing():
    assert no_such_name
