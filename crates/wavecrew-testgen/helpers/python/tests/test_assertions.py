"""Which tests assert something that can fail."""
import ast
import os

import pytest
from conftest import HELPERS
from wavecrew_testgen.assertions import asserts

BODIES = os.path.join(os.path.dirname(os.path.dirname(HELPERS)), "tests", "assertions", "bodies.py")


def bodies():
    with open(BODIES, encoding="utf-8") as file:
        lines = file.read().split("\n")
    functions = [node for node in ast.parse("\n".join(lines)).body if isinstance(node, ast.FunctionDef)]
    return [pytest.param("\n".join(lines[node.lineno - 1:node.end_lineno]), id=node.name) for node in functions]


@pytest.mark.parametrize("text", bodies())
def test_the_generator_follows_the_rules_of_the_check(text):
    assert asserts(text) is text.startswith("def test_asserts_")


SHELF = """
class Shelf:
    def __init__(self, size: int):
        self._size = size
        self._items = {}

    def __setitem__(self, key: str, value: int):
        if len(self._items) >= self._size:
            raise ValueError('full')
        self._items[key] = value

    def __delitem__(self, key: str):
        del self._items[key]

    def __getitem__(self, key: str):
        return self._items[key]

    def __iter__(self):
        return iter(self._items)

    def keys(self):
        return self._items.keys()

    def __len__(self):
        return len(self._items)
"""


def test_the_state_after_an_assignment_is_asserted(generate):
    outcome, text = generate(SHELF, budget=2.0)
    assert "shelf[" in text and "assert dict(shelf) == {" in text
    for function in ast.parse(text).body:
        if isinstance(function, ast.FunctionDef):
            assert asserts(ast.get_source_segment(text, function)), function.name


def test_what_cannot_be_asserted_is_not_written(generate):
    outcome, text = generate(
        "class Sink:\n    def __init__(self, n: int):\n        self._n = n\n    def __setitem__(self, key: str, value: int):\n        self._n = value\n"
        "    def push(self, value: int):\n        self._n = value\n\n\ndef double(n: int) -> int:\n    return n * 2\n")
    assert "sink[" not in text and "double(" in text


def test_only_tests_that_use_random_numbers_set_a_seed(generate):
    _, text = generate(
        "import random\n\n\ndef roll(sides: int) -> int:\n    return random.randint(1, max(1, sides))\n\n\n"
        "def double(n: int) -> int:\n    return n * 2\n")
    tests = text.split("def test_")
    assert all(("random.seed(0)" in test) == ("roll(" in test) for test in tests[1:])
    assert "roll(" in text and "double(" in text


def test_names_say_what_differs(generate):
    outcome, _ = generate(
        "def kind(text: str) -> str:\n    table = {'a b': 1, 'a-b': 2, 'A_B': 3, 'a_b': 4, '': 5, ' ': 6, '-': 7}\n"
        "    return 'known %d' % table[text] if text in table else 'other'\n", budget=2.0)
    for written in outcome["written"]:
        assert not [test for test in written["tests"] if test.rstrip("]").endswith(("_2", "_3"))]


def test_refused_tests_are_not_written_again(generate):
    source = "def sign(n: int) -> int:\n    if n > 0:\n        return 1\n    return -1 if n < 0 else 0\n"
    first, _ = generate(source)
    refused = first["written"][0]["tests"][0].partition("[")[0]
    second, text = generate(source, feedback={"uncovered": [], "survivors": [], "failing": [], "refused": [refused]})
    assert refused not in text
    # The others are in the file of the first round.
    assert second["written"] == []
    assert any("refused" in left["why"] for left in second["left_out"])


def test_variables_do_not_hide_functions_of_the_module(generate):
    outcome, text = generate(
        "class PDeque:\n    def __init__(self, items):\n        self.items = list(items)\n    def add(self, n: int):\n        self.items.append(n)\n\n\n"
        "def pdeque(items=()):\n    return PDeque(items)\n")
    assert "pdeque =" not in text and "subject.add(" in text
    assert not [left for left in outcome["left_out"] if "failed" in left["why"]]
