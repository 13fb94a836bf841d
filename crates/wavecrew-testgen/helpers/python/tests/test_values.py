"""Kinds, values, patterns and variations: pure parts of the search."""
import ast
import collections
import datetime
import enum
import random
import re
import typing

import pytest

from wavecrew_testgen import comparisons, naming, observe, patterns, simplify, type_hints, usage
from wavecrew_testgen.cases import Case, method_call, subject_name
from wavecrew_testgen.values import Maker, Pool, constants, separators
from wavecrew_testgen.variation import Variation


class Colour(enum.Enum):
    RED = 1


@pytest.mark.parametrize(
    ("annotation", "kind"),
    [
        (int, ("int",)),
        (typing.Optional[str], ("union", ("str",), ("none",))),
        (typing.List[int], ("list", ("int",))),
        (typing.Dict[str, float], ("dict", ("str",), ("float",))),
        (typing.Tuple[int, str], ("tuple", ("int",), ("str",))),
        (typing.Tuple[int, ...], ("list", ("int",))),
        (typing.Callable[[int, int], bool], ("callable", 2, ("bool",))),
        (Colour, ("enum", Colour)),
        (datetime.date, ("date",)),
        (typing.Any, ("any",)),
        (typing.SupportsInt, ("int",)),
    ],
)
def test_kind_of_annotation(annotation, kind):
    assert type_hints.kind_of_annotation(annotation) == kind


@pytest.mark.parametrize(
    ("doc", "kind"),
    [
        (":param x: the number\n:type x: int", ("int",)),
        ("Args:\n    x (str): a text", ("str",)),
        ("Parameters\n----------\nx : list of int", ("list", ("int",))),
        ("Args:\n    x (datetime or str): when", ("union", ("datetime",), ("str",))),
        ("nothing about it", ("any",)),
    ],
)
def test_kind_of_docstring(doc, kind):
    assert type_hints.kind_of_docstring(doc, "x") == kind


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("return x.strip().lower()", ("str",)),
        ("return x % 2 == 0", ("int",)),
        ("return x['name']", ("dict", ("str",), ("any",))),
        ("return x(1, 2)", ("callable", 2, ("any",))),
        ("return ','.join(x)", ("list", ("str",))),
        ("return x.append(1)", ("list", ("any",))),
        ("return x == 'a'", ("str",)),
    ],
)
def test_kind_of_use(body, kind):
    function = ast.parse("def f(x):\n    " + body).body[0]
    assert usage.best(usage.uses(function, ["x"])["x"]) == kind


@pytest.mark.parametrize(
    "pattern",
    [r"^\d{4}-\d\d$", r"(?P<a>[a-z]+)@(?P=a)\.com", r"(foo|bar)+?x*", r"[^abc]{2,}", r"P(?!\b)(\d+Y)?(\d+M)?$", r"(?i)hello\s+w"],
)
def test_strings_of_a_pattern_match_it(pattern):
    found = patterns.matches(pattern, random.Random(1))
    assert found
    assert all(re.search(pattern, text) for text in found)


def test_dates_of_a_format_can_be_read_back():
    found = patterns.dates("%d.%m.%Y")
    assert found
    assert all(datetime.datetime.strptime(text, "%d.%m.%Y") for text in found)


def test_changed_literals_are_literals_of_the_same_type():
    vary = Variation(random.Random(3), Pool(["a,b", 7]))
    for source in ("5", "'text'", "[1, 2, 3]", "{'a': 1}", "(1, 'b')", "2.5", "b'x'", "{1, 2}"):
        kind = type(ast.literal_eval(source))
        for _ in range(50):
            changed = vary.expression(source)
            assert type(ast.literal_eval(changed)) is kind


def test_literals_inside_calls_are_changed():
    vary = Variation(random.Random(3), Pool([], []))
    changed = {vary.expression("datetime.timedelta(days=3)") for _ in range(30)}
    assert len(changed) > 3
    assert all(text.startswith("datetime.timedelta(days=") for text in changed)


def test_compared_values_are_put_into_the_input():
    class Seen:
        pairs = [("Eq", "abc", "magic")]
        methods, checks, conversions = [], [], []

    cases = comparisons.cases_from_comparisons(Case("f", [(None, "'abc'"), (None, "3")]), Seen, random.Random(1))
    assert Case("f", [(None, "'magic'"), (None, "3")]) in cases


def test_infinite_numbers_are_skipped():
    class Seen:
        pairs = [("Lt", float("inf"), 3), ("Lt", float("nan"), 2), ("Lt", 10 ** 400, 0.5), ("Lt", 4, 9)]
        methods, checks, conversions = [], [], []

    sources = {case.args[0][1] for case in comparisons.cases_from_comparisons(Case("f", [(None, "3")]), Seen, random.Random(1))}
    assert "8" in sources


def test_simpler_cases_have_fewer_items_and_smaller_values():
    found = {case.args[0][1] for case in simplify.simpler_cases(Case("f", [(None, "[1, 5000, 3]")]))}
    assert {"[1]", "[5000, 3]", "[1, 5000]", "[1, 1, 3]", "[1, 100, 3]"} <= found
    found = {case.args[0][1] for case in simplify.simpler_cases(Case("f", [(None, "{'a': 1, 'b': 2}")]))}
    assert {"{'a': 1}", "{'b': 2}"} <= found


def test_values_of_unknown_kind_are_no_functions():
    maker = Maker(random.Random(3), None, None)
    assert not [made for made in (maker.make(("any",), Pool([], [])) for _ in range(500)) if "lambda" in made]


def test_looked_up_keys_may_have_another_type():
    class Seen:
        pairs = [("Item", {"cola": 1, 7: 2}, 3)]
        methods, checks, conversions = [], [], []

    sources = {case.args[0][1] for case in comparisons.cases_from_comparisons(Case("f", [(None, "3")]), Seen, random.Random(1))}
    assert {"'cola'", "7"} <= sources


def test_compared_values_are_put_into_steps():
    class Seen:
        pairs = [("Lt", 100, 150)]
        methods, checks, conversions = [], [], []

    case = Case("Box.take", [(None, "'a'")], "Box()", [("open", ()), ("put", ((None, "'b'"), ("cents", "100")))])
    steps = {found.steps for found in comparisons.cases_from_comparisons(case, Seen, random.Random(1))}
    assert (("open", ()), ("put", ((None, "'b'"), ("cents", "150")))) in steps


def test_strings_are_joined_by_the_separators_of_the_code():
    tree = ast.parse("for line in text.splitlines():\n    a, _, b = line.partition('=')\n    b.split()\n    b.split(x)")
    pool = Pool(["[a]"], [])
    pool.separators = separators(tree)
    assert pool.separators == ["\n", "=", " "]
    made = {pool.composed(random.Random(seed)) for seed in range(200)}
    assert any("\n" in text and "=" in text for text in made)


def test_powers_of_constants_are_tried():
    maker = Maker(random.Random(1), None, None)
    made = {int(maker.make(("int",), Pool([1024]))) for _ in range(3000)}
    assert {1024 ** 2, 1024 ** 3, 1024 ** 4} <= made


def test_a_length_that_was_compared_resizes_the_input():
    class Seen:
        pairs = [("Gt", 2, 4)]
        methods, checks, conversions = [], [], []

    sources = {case.args[0][1] for case in comparisons.cases_from_comparisons(Case("f", [(None, "[1, 2]")]), Seen, random.Random(1))}
    assert "[1, 2, 1, 2, 1]" in sources


Point = collections.namedtuple("Point", "x y")


@pytest.mark.parametrize(
    ("value", "facts"),
    [
        (None, (("{}", "is", "None"),)),
        (True, (("{}", "is", "True"),)),
        (0.1, (("{}", "==", "pytest.approx(0.1)"),)),
        ([1, 2.5], (("{}", "==", "[1, pytest.approx(2.5)]"),)),
        ({"b", "a"}, (("{}", "==", "{'a', 'b'}"),)),
        (datetime.date(2020, 1, 2), (("{}", "==", "datetime.date(2020, 1, 2)"),)),
        (Point(1, 2), (("{}", "==", "(1, 2)"),)),
        (float("nan"), (("math.isnan({})", "is", "True"),)),
    ],
)
def test_facts_of_values(value, facts):
    assert observe.Facts(lambda _: None).of(value) == facts


def test_decimals_of_rounding_code_are_asserted_exactly():
    exact, near = observe.Facts(lambda _: None, rounds=True), observe.Facts(lambda _: None)
    assert exact.source(1.408943) == "1.408943" and near.source(1.408943) == "pytest.approx(1.408943)"
    assert exact.source(2 / 3) == near.source(2 / 3) == "pytest.approx(0.6666666666666666)"


def test_objects_are_described_by_their_public_attributes():
    class Thing:
        def __init__(self):
            self.size = 3
            self._hidden = 4

    facts = observe.Facts(lambda _: None).of(Thing())
    assert facts == (("{}", "type", "Thing"), ("{}.size", "==", "3"))


def test_addresses_are_never_asserted():
    assert observe.Facts(lambda _: None).of("<object at 0x7f0011223344>")[0][1] == "type"


@pytest.mark.parametrize(
    ("name", "args", "text"),
    [
        ("__eq__", [(None, "1")], "it == 1"),
        ("__len__", [], "len(it)"),
        ("__contains__", [(None, "'a'")], "'a' in it"),
        ("push", [(None, "1"), ("deep", "True")], "it.push(1, deep=True)"),
    ],
)
def test_methods_are_written_as_operators(name, args, text):
    assert method_call("it", name, args) == text


def test_names_of_objects():
    assert [subject_name(name) for name in ("HTTPVersion", "List", "BoundedStack")] == [
        "httpversion", "subject", "bounded_stack"]


@pytest.mark.parametrize(
    ("source", "word"),
    [("''", "empty_text"), ("-3", "minus_3"), ("None", "none"), ("'Hello, World'", "hello_world"), ("[1, 2]", "1_2"),
     ("'!?'", "bang_question_mark"), ("'!?!?'", "symbols"), ("[]", "empty_list")],
)
def test_descriptions_of_values(source, word):
    assert naming.describe(source) == word


def test_a_message_is_matched_exactly():
    pattern = ast.literal_eval(naming.pattern("not a (number): 1.5"))
    assert re.match(pattern, "not a (number): 1.5")
    assert not re.match(pattern, "not a (number): 1x5")
    lines = ast.literal_eval(naming.pattern("unknown unit\nknown are: m, km"))
    assert re.match(lines, "unknown unit\nknown are: m, km") and not re.match(lines, "unknown unit\nknown are: m, km, Mm")
    assert re.match(ast.literal_eval(naming.pattern("x" * naming.MAX_LENGTH)), "x" * 500)


def test_constants_exclude_docstrings():
    tree = ast.parse('def f():\n    "documentation"\n    return "value", 3')
    assert constants(tree) == ["value", 3]


def test_numbers_of_a_class_of_the_project_are_compared_as_numbers(generate):
    _, text = generate(
        "class Cents(int):\n    @property\n    def sign(self):\n        return 1\n\n\ndef cents(euros: int) -> Cents:\n    return Cents(euros * 100)\n")
    assert re.search(r"assert cents\(\d+\) == \d+00\n", text)


def test_a_named_tuple_with_its_own_constructor_is_compared_as_a_tuple(generate):
    outcome, text = generate(
        "import collections\n\n\nclass Part(collections.namedtuple('Part', 'name, size')):\n"
        "    def __new__(cls, name: str, size: int, source: object):\n        return super().__new__(cls, name, size)\n\n\n"
        "def part(text: str) -> Part:\n    return Part(text, len(text), text)\n")
    assert "Part(name=" not in text and re.search(r"part\(\"\w*\"\) == \(\"\w*\", \d\)", text)
    assert not any("failed" in left["why"] for left in outcome.get("left_out", []))


def test_an_object_of_its_own_class_is_no_result(generate):
    _, text = generate("class Box:\n    def __init__(self, items: list):\n        self._items = items\n\n    def size(self) -> int:\n        return len(self._items)\n")
    assert "isinstance" not in text and "size()" in text
