"""What counts as a suspected defect and what does not."""
import pytest

from wavecrew_testgen import annotations
from wavecrew_testgen.targets import Parameter, Target
from wavecrew_testgen.cases import Case
from wavecrew_testgen.defects import plausible
from wavecrew_testgen.expected_errors import lacks_key, may_take_long
from wavecrew_testgen.argument_checks import is_raised_by, lines_at
from wavecrew_testgen.type_hints import kind_of_annotation, source_fits


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


@pytest.mark.parametrize(
    ("raises", "kind", "rejects"),
    [
        ("raise ValueError(n.name)", AttributeError, False), ("raise ValueError(n)", ValueError, True),
        ("raise ValueError(n)", UnicodeDecodeError, True), ("raise IOError(2, n)", FileNotFoundError, True),
        ("raise make_error(n.name)", AttributeError, True), ("raise", KeyError, True),
    ],
)
def test_an_error_of_the_expression_that_a_raise_contains_is_not_raised_on_purpose(tmp_path, raises, kind, rejects):
    path = tmp_path / "sample.py"
    path.write_text("def f(n):\n    %s\n" % raises)
    assert is_raised_by(kind, lines_at(str(path))[2]) is rejects


def test_a_message_about_a_wrong_type_is_not_recorded(generate):
    _, text = generate(
        "class LintError(Exception):\n    pass\n\n\ndef check(rule, conf):\n    if not isinstance(conf, dict):\n"
        "        raise LintError('bad conf')\n    if conf:\n        raise LintError('bad conf of %s' % rule.ID)\n    return conf\n")
    assert "LintError" in text and "has no attribute" not in text


def test_items_of_a_class_that_is_unknown_are_not_of_the_documented_kind():
    import typing

    kind = kind_of_annotation(annotations.resolved("Sequence[Plugin]", typing))
    assert source_fits("[]", kind) and not source_fits("[1]", kind)
    assert kind_of_annotation(annotations.resolved("Plugin", typing)) == ("any",)
    assert kind_of_annotation(annotations.resolved("plugins.Plugin[int] | None", typing))[0] == "union"


def test_annotations_for_type_checkers_are_read(generate):
    _, text = generate(
        "from __future__ import annotations\nfrom typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from fractions import Fraction\n    from nowhere import Thing\n\n\n"
        "def half(n: Fraction, other: Thing | None = None) -> Fraction:\n    return n / n.denominator if n.numerator > 2 else n\n")
    assert "fractions.Fraction(" in text


def test_a_key_made_from_the_argument_of_a_constructor_is_the_callers(generate):
    outcome, _ = generate(
        "SECTIONS = {2: 'definitions', 3: 'components'}\n\n\n"
        "class Version:\n    def __init__(self, text: str):\n        self.major = int(text.partition('.')[0])\n\n\n"
        "class Document:\n    def __init__(self, version: Version):\n        self.version = version\n"
        "    def section(self, name: str) -> str:\n        return SECTIONS[self.version.major] + name\n")
    assert outcome["defects"] == []


@pytest.mark.parametrize(("passed_on", "defects"), [("", 0), ("from ._tools import spin\n", 1)])
def test_only_what_a_package_offers_its_users_can_be_a_defect(generate, tmp_path, passed_on, defects):
    package = tmp_path / "project" / "pack"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(passed_on)
    source = "def spin(n: int) -> int:\n    while n > 10:\n        pass\n    return n\n"
    outcome, _ = generate(source, name="pack/_tools", budget=2.0)
    assert [found["kind"] for found in outcome["defects"]] == ["does not end"] * defects


def test_the_null_device_is_no_file(generate):
    outcome, text = generate("import os\nwith open(os.devnull, 'w') as null:\n    null.write('x')\n\n\ndef double(n: int) -> int:\n    return n * 2\n")
    assert "double" in text and not any("writes files" in left["why"] for left in outcome.get("left_out", []))


@pytest.mark.parametrize(("parameter", "defects"), [("text", 0), ("text: list", 1)])
def test_a_container_for_a_parameter_of_unknown_kind_is_no_evidence(generate, parameter, defects):
    outcome, _ = generate(
        "def skip(%s, at):\n    while True:\n        part = text[at:at + 1]\n        if part == '\\n' or part == '':\n            return at\n        at += 1\n" % parameter,
        budget=2.0)
    assert len([found for found in outcome["defects"] if found["kind"] == "does not end"]) == defects


def test_a_key_that_a_dictionary_of_the_caller_lacks_is_not_tested(generate):
    _, text = generate(
        "from typing import Any, Dict\n\n\ndef heading(token: Dict[str, Any]) -> str:\n"
        "    return '#' * token['level'] + ' ' + token['text']\n\n\ndef level(token: Dict[str, Any]) -> int:\n    return token.get('level', 1)\n")
    assert "test_level" in text and "KeyError" not in text
    assert not lacks_key(Case("price", [(None, "'x'")]), "'x'")
    assert lacks_key(Case("heading", [(None, "{'a': 1}")]), "'level'")
    assert not lacks_key(Case("price", [(None, "{}"), (None, "'x'")]), "'x'")
