"""What counts as a suspected defect and what does not."""
import pytest

from wavecrew_testgen.targets import Parameter, Target
from wavecrew_testgen.cases import Case
from wavecrew_testgen.defects import plausible
from wavecrew_testgen.expected_errors import may_take_long
from wavecrew_testgen.argument_checks import lines_at


@pytest.mark.parametrize(
    ("body", "rejects"),
    [
        ("    assert n > 0\n    return n", True),
        ("    'doc'\n    if n is None:\n        raise TypeError\n    assert n > 0, n\n    return n", True),
        ("    half = n // 2\n    assert half > 0\n    return half", False),
        ("    assert TABLE\n    return n", False),
    ],
)
def test_assertions_about_arguments_reject_the_caller(tmp_path, body, rejects):
    path = tmp_path / "sample.py"
    path.write_text("TABLE = {}\n\n\ndef f(n):\n%s\n" % body)
    line = next(number for number, text in enumerate(path.read_text().splitlines(), 1) if "assert" in text)
    assert (line in lines_at(str(path))) is rejects


def test_an_argument_check_is_behaviour_and_its_message_is_asserted(generate):
    outcome, text = generate(
        "def halve(n: int) -> int:\n    assert n % 2 == 0, 'odd numbers have no half'\n    return n // 2\n")
    assert outcome["defects"] == []
    assert "AssertionError, match=" in text and "odd numbers have no half" in text


def test_earlier_calls_do_not_change_module_lists_in_examples(generate):
    outcome, text = generate(
        'SHELF = [3, 1, 2]\n\n\ndef take(shelf, count):\n    """\n    >>> take(SHELF, 2)\n    [3, 1]\n    """\n'
        "    taken = shelf[:count]\n    del shelf[:count]\n    return taken\n")
    assert outcome["defects"] == []
    assert "[3, 1, 2]" in text and "SHELF" not in text


def test_an_error_that_needs_earlier_calls_is_no_defect(generate):
    # The second call of one process ends in an error that the first does not.
    outcome, _ = generate(
        "_seen = []\n\n\ndef visit(name: str) -> int:\n    _seen.append(name)\n    return [10, 20, 30][len(_seen) - 1]\n")
    assert [defect["kind"] for defect in outcome["defects"]] == []


@pytest.mark.parametrize(
    ("observed", "source", "expected"),
    [
        ([("list", ("list", ("int",)))], "[[1, 2], [3]]", True), ([("list", ("list", ("int",)))], "'text'", False),
        ([], "7", True), ([], "'text'", False), ([], "None", False),
    ],
)
def test_plausible_inputs(observed, source, expected):
    parameter = Parameter("graph", "plain", True, [(("int",), 9), (("any",), 1)], None, False)
    for kind in observed:
        parameter.add_observed_kind(kind)
    target = Target("f", "f", None, "function", None, [parameter], True)
    assert plausible(Case("f", [(None, source)]), target) is expected


def test_an_endless_loop_on_implausible_input_is_no_defect(generate):
    outcome, _ = generate(
        'def total(rows):\n    """\n    >>> total([[1, 2], [3]])\n    6\n    """\n    while isinstance(rows, str):\n        pass\n'
        "    return sum(sum(row) for row in rows)\n", budget=2.0)
    assert [defect["kind"] for defect in outcome["defects"]] == []


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (Case("f", [(None, "[1, 0]")]), False), (Case("f", [(None, "[1, 0] * 2")]), False),
        (Case("f", [(None, repr("a" * 20))]), False),
        (Case("f", [(None, repr([1, 0] * 10))]), True), (Case("f", [(None, repr("a" * 60))]), True), (Case("Endless.__iter__", [], "Endless()"), True),
    ],
)
def test_calls_that_may_take_long(case, expected):
    assert may_take_long(case) is expected


def test_kinds_are_learnt_from_examples():
    parameter = Parameter("data", "plain", True, [(("str",), 5), (("any",), 1)], None, False)
    for _ in range(9):
        parameter.add_observed_kind(("list", ("int",)))
    assert parameter.kinds == [(("list", ("int",)), 18), (("str",), 5), (("any",), 1)]


def test_the_message_of_a_returned_exception_is_asserted(generate):
    _, text = generate(
        "def check(n: int):\n    return n if n > 0 else ValueError('must be positive')\n")
    assert '== "must be positive"' in text


def test_all_numbers_near_those_of_examples_are_tried(generate):
    outcome, text = generate(
        'def lucky(year: int) -> str:\n    """\n    >>> lucky(2020)\n    \'no\'\n    """\n'
        "    if year * 7 % 97 == 3 and year * 5 % 89 == 31:\n        return 'yes'\n    return 'no'\n")
    assert outcome["lines"][0] == outcome["lines"][1]
    assert '"yes"' in text
