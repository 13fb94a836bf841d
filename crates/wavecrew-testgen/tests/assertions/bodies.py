"""Test bodies that assert something that can fail (`test_asserts_...`), and such that do not (`test_hollow_...`).

wavecrew's check of written tests and the generator must agree on every one.
"""
import pytest


def test_asserts_a_value():
    assert f(1) == 2


def test_asserts_a_flag():
    assert f(1) is True


def test_asserts_an_approximate_value():
    assert f(1) == pytest.approx(0.1)


def test_asserts_a_comparison_in_brackets():
    assert (a == b) is True


def test_asserts_a_type():
    assert isinstance(f(1), Cart)


def test_asserts_a_type_by_name():
    assert type(f(1)).__name__ == "Cart"


def test_asserts_contents_after_an_assignment():
    cache[1] = 2
    assert dict(cache) == {1: 2}


def test_asserts_output(capsys):
    show()
    assert capsys.readouterr().out == "a\n"


def test_asserts_an_exception():
    with pytest.raises(ValueError):
        f(1)


def test_asserts_a_message():
    with pytest.raises(ValueError, match=r"^no$"):
        del cache[1]


def test_asserts_inside_a_context():
    with opened("a") as value:
        assert value == "A"


def test_asserts_one_of_two():
    assert True
    assert f(1) == 2


def test_asserts_both_parts():
    assert 1 and f(1)


def test_asserts_the_opposite():
    assert not f(1)


def test_hollow_assignment():
    cache["-5"] = 0


def test_hollow_deletion():
    del cache["-5"]


def test_hollow_call():
    f(1)


def test_hollow_setter():
    cart.limit = 3


def test_hollow_context():
    with opened("a"):
        pass


def test_hollow_same_sides():
    assert Color.RED == Color.RED


def test_hollow_same_sides_is():
    assert result is result


def test_hollow_constant():
    assert True


def test_hollow_literals():
    assert [1, 2] == [1, 2]


def test_hollow_number():
    assert -1 == -1


def test_hollow_tuple():
    assert (f(1), "message")


def test_hollow_object():
    assert isinstance(f(1), object)


def test_hollow_not_a_constant():
    assert not None


def test_hollow_alternative():
    assert f(1) or True
