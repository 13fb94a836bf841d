"""Suspected defects and false alarms."""
import ast

import pytest
from test_end_to_end import fails
from wavecrew_testgen import expected_errors
from wavecrew_testgen.cases import Case
from wavecrew_testgen.examples import SourceText
from wavecrew_testgen.type_hints import source_fits

WRONG = {
    "method": (
        "class Scale:\n    def __init__(self, items: list[int]):\n        self.items = items\n"
        "    def average(self) -> float:\n        return sum(self.items) / len(self.items)\n",
        ("internal error", "Scale([]).average()")),
    "pair of methods": (
        "class Codec:\n    def encode(self, text: str) -> str:\n        return text.strip()\n"
        "    def decode(self, text: str) -> str:\n        \"\"\"Reverses `encode`.\"\"\"\n        return text\n",
        ("round trip", "Codec().encode(' ")),
    "recursion": ("def down(n: int) -> int:\n    return down(n - 1) if n != 0 else 0\n", ("internal error", "down(-")),
}
CORRECT = {
    "names alone promise nothing": (
        "def encode_key(text: str) -> str:\n    return text.strip()\n\n\ndef decode_key(text: str) -> str:\n    return text\n"),
    "error of a function of the caller": (
        "from typing import Callable\ndef apply(text: str, key: Callable[[str], str]) -> str:\n"
        "    return ''.join(str(key(part)) for part in text.split(' '))\n"),
    "dictionary of the caller without a key": (
        "from typing import Any, Dict\n\n\nclass Writer:\n    def text(self, token: Dict[str, Any], level: int = 1) -> str:\n"
        "        return '#' * level + str(token['children'])\n"),
    "key made from an argument": "UNITS = {'DAYS': 1}\ndef days(unit: str) -> int:\n    return UNITS[unit.upper()]\n",
    "loose annotation": "from typing import Sequence\ndef words(text: Sequence) -> int:\n    return len(text.split())\n\n\ndef one() -> int:\n    return 1\n",
    "format of the caller": "def show(n: int, form: str) -> str:\n    return form.format(n)\n",
    "index of a container": (
        "class Row:\n    def __init__(self, items: list):\n        self.items = list(items)\n"
        "    def __getitem__(self, index: int):\n        return self.items[index]\n"),
    "order of keys": (
        "import json\ndef dumps(data: dict) -> str:\n    return json.dumps(data, sort_keys=True)\n"
        "def loads(text: str) -> dict:\n    return json.loads(text)\n"),
    "other direction": (
        "def escape(text: str) -> str:\n    return text.replace('&', '&amp;').replace('<', '&lt;')\n"
        "def unescape(text: str) -> str:\n    return text.replace('&lt;', '<').replace('&amp;', '&')\n"),
    "rounding": (
        "def to_celsius(f: float) -> float:\n    return (f - 32) * 5 / 9\n"
        "def from_celsius(c: float) -> float:\n    return c * 9 / 5 + 32\n"),
    "object made of nothing": (
        "class Signer:\n    def __init__(self, keys: list[str]):\n        self.keys = keys\n"
        "    def sign(self, text: str) -> str:\n        return text + self.keys[-1]\n"),
    "deep recursion": "def factorial(n: int) -> int:\n    return 1 if n < 2 else n * factorial(n - 1)\n",
    "key of the caller": "PRICES = {'tea': 3}\ndef price(name: str) -> int:\n    return PRICES[name]\n",
    "index of the caller": "def nth(items: list[int], index: int) -> int:\n    return items[index]\n",
    "division by the caller": "def ratio(a: float, b: float) -> float:\n    return a / b\n",
    "documented": 'def first(items: list) -> int:\n    """The first; IndexError where there is none."""\n    return items[0]\n',
    "odd object": (
        "class Stock:\n    def __init__(self, items: dict):\n        self.items = items\n"
        "    def add(self, name: str) -> None:\n        self.items[name] = self.items.get(name, 0) + 1\n"),
}


@pytest.mark.parametrize("name", sorted(WRONG))
def test_wrong_code_is_reported(generate, name):
    source, (kind, call) = WRONG[name]
    outcome, _ = generate(source)
    assert [(found["kind"], found["call"][:len(call)]) for found in outcome["defects"]] == [(kind, call)]
    assert fails(outcome)


@pytest.mark.parametrize("name", sorted(CORRECT))
def test_correct_code_is_not_reported(generate, name):
    outcome, text = generate(CORRECT[name])
    assert outcome["defects"] == [] and "def test_" in text


def test_what_is_odd_but_not_promised_is_a_note(generate):
    outcome, _ = generate(CORRECT["names alone promise nothing"])
    assert any(left["what"].startswith("decode_key(encode_key(") for left in outcome["left_out"])


@pytest.mark.parametrize(
    "want", ["{'b': 2, 'a': 1}", '["x", "y"]', "0.33", "<Key a>", "Key('a')", "[1, 2, ...]"], ids=lambda want: want[:8].strip("<[{"))
def test_docstrings_that_are_not_exact_are_not_defects(generate, want):
    outcome, _ = generate(
        "class Key:\n    def __init__(self, name):\n        self.name = name\n    def __repr__(self):\n        return '<Key %%s >' %% self.name\n\n\n"
        "VALUES = {'{': {'a': 1, 'b': 2}, '[\"': ['x', 'y'], '0.': 1 / 3, '<K': Key('a'), 'Ke': Key('a'), '[1': [1, 2, 3]}\n\n\n"
        'def look(start: str):\n    """\n    >>> look(%r)\n    %s\n    >>> len(look.__name__)\n    4\n    """\n'
        "    return VALUES.get(start, start)\n" % (want[:1] if want[0] == "{" else want[:2], want))
    assert [defect["call"] for defect in outcome["defects"]] == []

def test_slow_code_is_not_an_endless_loop(generate):
    outcome, _ = generate(
        "def fib(n: int) -> int:\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\n\n\n"
        "def spin(n: int) -> int:\n    while n > 10:\n        pass\n    return n\n", budget=2.0)
    assert {found["call"].partition("(")[0] for found in outcome["defects"]} == {"spin"}


@pytest.mark.parametrize(
    ("source", "kind", "fit"),
    [
        ("('a', 'b')", ("tuple", ("str",), ("str",)), True), ("('a',)", ("tuple", ("str",), ("str",)), False),
        ("{'a': 1}", ("dict", ("str",), ("int",)), True), ("{'a': ''}", ("dict", ("str",), ("int",)), False),
        ("[1, 'a']", ("list", ("int",)), False), ("[1, 'a']", ("list", ("any",)), True), ("True", ("int",), False),
        ("datetime.datetime(2024, 1, 2, 0, 0)", ("date",), False), ("datetime.date(2024, 1, 2)", ("date",), True),
        ("None", ("union", ("int",), ("none",)), True),
    ],
)
def test_values_of_the_documented_kind(source, kind, fit):
    assert source_fits(source, kind) is fit


def test_large_numbers_are_replaced_by_smaller_ones():
    assert expected_errors.with_smaller_numbers(Case("f", [(None, "5"), (None, "'ab'")]).data()) == []
    tried = [args[0][1] for _, args, _, _ in expected_errors.with_smaller_numbers(Case("f", [(None, "100"), (None, "5")]).data())]
    assert tried == ["50", "36", "33", "30", "27", "24", "22", "20"]


def test_rounded_numbers_need_not_survive_a_round_trip(generate):
    outcome, _ = generate(
        "def format_ms(ms: int) -> str:\n    return '%ds' % int(ms / 1000)\n\n\n"
        "def parse_ms(text: str) -> int:\n    return int(text[:-1]) * 1000\n")
    assert "round trip" not in [defect["kind"] for defect in outcome["defects"]]


def test_objects_of_another_class_do_not_fit():
    class Point:
        pass

    assert source_fits("Point(1)", ("class", Point)) and not source_fits("Color.RED", ("class", Point))
    assert not source_fits("types.SimpleNamespace()", ("class", pytest.Item))


@pytest.mark.parametrize(
    "example",
    [
        ">>> print(double(2))\n    4", ">>> print(double('a'))\n    aa", ">>> shout('a')\n    A", ">>> print(double('a b\\n\\n c'))\n    a b\n    <BLANKLINE>\n     ca b\n    <BLANKLINE>\n     c",
        ">>> double([1])\n    [1, 1]", ">>> print(double)  # doctest: +ELLIPSIS\n    <function double at ...>",
    ],
)
def test_examples_are_compared_as_doctest_compares_them(generate, example):
    outcome, _ = generate('r"""\n    %s\n"""\n\n\ndef double(n):\n    return n * 2\n\n\ndef shout(text: str):\n    print(text.upper())\n' % example)
    assert [defect for defect in outcome["defects"] if defect["kind"] == "example disagrees"] == []


def test_an_example_that_prints_something_else_is_a_defect(generate):
    outcome, _ = generate('def shout(text: str):\n    """\n    >>> shout("a")\n    A!\n    """\n    print(text.upper())\n')
    found = outcome["defects"]
    assert [(defect["kind"], defect["call"], defect["what"]) for defect in found] == [
        ("example disagrees", 'shout("a")', "shows A, but its docstring says A!")]
    assert fails(outcome)


def test_reading_a_large_test_file_is_linear():
    count = 20000
    text = "".join("value_%d = double([%d, 'é'])\n" % (n, n) for n in range(count))
    tree, source = ast.parse(text), SourceText(text)
    assert [source.segment(node.value) for node in tree.body][-1] == "double([%d, 'é'])" % (count - 1)


@pytest.mark.parametrize("expression", ["f(1)", "'é' + f(\n    'ü',\n  2)", "'''a\nb'''"])
def test_the_source_of_a_node(expression):
    text = "x = 'ä'; y = %s; z = 3\n" % expression
    node = ast.parse(text).body[1].value
    assert SourceText(text).segment(node) == ast.get_source_segment(text, node) == expression


def test_an_example_that_depends_on_those_before_it_is_no_defect(generate):
    outcome, _ = generate(
        'class Tape:\n    """\n    >>> tape = Tape([1, 2])\n    >>> tape.pop()\n    1\n    >>> tape.pop()\n    2\n    >>> tape.pop()\n'
        '    Traceback (most recent call last):\n    IndexError: empty\n    >>> tape.items\n    []\n    """\n'
        "    def __init__(self, items: list):\n        self.items = items\n"
        "    def pop(self):\n        if not self.items:\n            raise IndexError('empty')\n        return self.items.pop(0)\n")
    assert [defect for defect in outcome["defects"] if defect["kind"] == "example disagrees"] == []
