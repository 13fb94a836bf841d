"""Parts of the comparison of two versions: copies of tests, pieces of tests, edits of inputs, and the run of changed tests."""
import ast
import json
import os
import subprocess
import sys
import types

import pytest
from conftest import HELPERS

from wavecrew_testgen import diff_edges, diff_suite, snippet_options, snippets
from wavecrew_testgen.diff_compare import normal, shown
from wavecrew_testgen.test_copies import copies

TESTS = '''
"""About carts."""
import os, sys
import pytest
from shop import Cart, Gone

PRICES = {"a": 1}
OTHER = 5


@pytest.fixture
def cart():
    return Cart(PRICES)


@pytest.mark.parametrize("item, price", [("a", 1), pytest.param("b", 2, id="second")])
@pytest.mark.parametrize("times", [1, 2])
def test_price(cart, item, price, times):
    """One price."""
    unused = OTHER
    cart.clear()
    assert cart.total() == 0
    assert cart.price(item) * times == price * times
    assert os.sep


class TestCart:
    limit = 3

    def setup_method(self, method):
        self.cart = Cart(PRICES)

    def helper(self):
        return 1

    def test_one(self):
        assert self.cart.limit == self.limit

    def test_two(self):
        assert self.cart.limit != OTHER
'''


def made(function, line, owner=None, **indices):
    test = {"owner": owner, "function": function, "indices": indices, "error": ["AssertionError", "", line]}
    return [text for text, _ in copies(TESTS, test)]


def line_of(text):
    return TESTS.split("\n").index(text) + 1


def test_a_copy_has_what_the_failing_statement_needs():
    found = made("test_price", line_of("    assert cart.price(item) * times == price * times"), item=1, price=1, times=1)
    assert found[0] == """import pytest
from shop import Cart


PRICES = {"a": 1}


@pytest.fixture
def cart():
    return Cart(PRICES)


def test_price(cart):
    item = 'b'
    price = 2
    times = 2
    assert cart.price(item) * times == price * times
"""
    assert "cart.clear()" in found[1]


def test_a_copy_of_a_method_keeps_its_class_without_the_other_tests():
    (found,) = made("test_one", line_of("        assert self.cart.limit == self.limit"), owner="TestCart")
    assert "limit = 3" in found and "def setup_method" in found
    assert "test_two" not in found and "helper" not in found and "OTHER" not in found


def test_a_test_without_assertions_is_not_copied():
    assert list(copies("def test_a():\n    f(1)\n", {"owner": None, "function": "test_a", "indices": {}, "error": None})) == []


def test_calls_of_a_function_of_the_test_need_no_earlier_ones():
    body = ast.parse("def check(a):\n    return a\ncheck(1)\ncheck(2)\nitems = []\nadd(items)\n").body
    last = ast.parse("check(items)", mode="eval").body
    kept = [ast.unparse(node) for node in snippets._needed(body, last)]
    assert kept == ["def check(a):\n    return a", "items = []", "add(items)"]


def test_slots_of_pieces_are_numbered_on():
    literals = []
    pieces = [snippets._Piece(ast.parse("f(%s)" % ", ".join(map(str, range(12)))).body[0]), snippets._Piece(ast.parse("g(40, 41)").body[0])]
    text = "\n".join(piece.numbered(literals) for piece in pieces)
    assert snippets._filled(text, [(None, source) for source in literals]) == "f(%s)\ng(40, 41)" % ", ".join(map(str, range(12)))


class Guard:
    def call(self, function, seconds):
        return function()


def loaded(folder, files):
    """The snippets of the test files in a folder, and the results of those that run."""
    write(folder, files)
    request = {"root": str(folder), "diff": {"new_root": str(folder), "first_tests": {}, "snippet_seconds": 20}}
    known = list(sys.path)
    try:
        found = snippets.Snippets(request, Guard(), lambda: None).load([str(folder / name) for name in files if "test_" in name])
    finally:
        sys.path[:] = known
    results = []
    for one in found:
        setup, expression = one.parts(one.literals)
        scope = dict(one.scope)
        try:
            exec(setup, scope)
            results.append((one.name, eval(expression, scope)))
        except NameError:
            continue
    return found, results


FIXTURE_TESTS = '''
from __future__ import annotations
import pytest
from .values import ROWS


async def waited(number: Number) -> Number:
    return number + 1


@pytest.fixture(params=[3, 4])
def size(request):
    return request.param


@pytest.fixture
def opened(size, tmp_path):
    path = tmp_path / "a"
    path.write_text("x" * size)
    with open(path) as file:
        yield file


def test_opened(opened, base):
    assert opened.read() + base == 1


@pytest.mark.parametrize("text, number", ROWS)
def test_rows(text, number):
    assert text * number


@pytest.mark.parametrize("kind, text", (pytest.param(*row) if row[1] else row for row in [(int, "1"), (object(), "2"), (str, "")]))
def test_kinds(kind, text):
    assert kind(text)



def test_loop(mocker):
    table = {"a": 1, "b": 2}
    for key, value in sorted(table.items()):
        assert key * value
    assert mocker.patch()


async def test_waiting():
    number = await waited(4)
    assert number == 5


class TestOwn:
    limit = 7

    @pytest.fixture
    def limited(self):
        return [self.limit]

    def test_limit(self, limited):
        assert limited[0] == 7
'''


def test_pieces_of_tests_get_their_fixtures_tables_and_loops(tmp_path):
    _, results = loaded(tmp_path, {
        "first/__init__.py": "", "first/values.py": "ROWS = [(letter, 2) for letter in 'xy']\n",
        "first/conftest.py": "import pytest\nEND = '!'\n\n@pytest.fixture()\ndef base():\n    return END\n",
        "first/test_all.py": FIXTURE_TESTS})
    assert results == [
        ("test_opened", "xxx!"), ("test_opened", "xxxx!"), ("test_rows", "xx"), ("test_rows", "yy"),
        ("test_kinds", 1), ("test_kinds", ""), ("test_loop", "a"), ("test_loop", "bb"), ("test_waiting", 5), ("TestOwn.test_limit", 7)]


def test_pieces_that_the_versions_compute_differently_are_not_compared(tmp_path):
    tests = "import pytest\nfrom kinds import KINDS\n\n\n@pytest.mark.parametrize('kind', [kind for kind in KINDS])\ndef test_kind(kind):\n    assert kind(1)\n"
    keys = []
    for version, kinds in (("old", "[int, str]"), ("new", "[int, float, str]")):
        found, _ = loaded(tmp_path / version, {"kinds.py": "KINDS = %s\n" % kinds, "test_kinds.py": tests})
        sys.modules.pop("kinds")
        keys.append({one.key for one in found})
    assert len(keys[0] & keys[1]) == 1


def test_a_piece_of_a_test_runs_outside_of_its_folder(tmp_path):
    found, _ = loaded(tmp_path, {
        "second/__init__.py": "", "second/values.py": "ROWS = [('x', 2)]\n", "second/conftest.py": "", "second/test_all.py": FIXTURE_TESTS})
    opened = next(one for one in found if one.name == "test_opened")
    assert "def opened(size, tmp_path):" in opened.imports and "@" not in opened.imports
    waiting = next(one for one in found if one.name == "test_waiting")
    assert waiting.parts([])[0].startswith("import asyncio") and "async def waited(number):" in waiting.imports
    read = "from .values import ROWS\n\ndef test_rows():\n    assert len(ROWS) == 1\n"
    (one,) = loaded(tmp_path, {"second/test_rows.py": read})[0]
    assert one.imports == "from second.values import ROWS"


def test_folders_of_the_versions_are_no_difference():
    roots = ["/tmp/x/old", "/tmp/x/new"]
    seen = [normal(["returns", [["@out", "==", "'reads %s/a at 0x7f19a83de7d0'" % root]], "{}", None, False, None, False], roots) for root in roots]
    assert seen[0] == seen[1] and seen[0][1][0][2] == "'reads <project>/a at 0x…'"


def test_an_object_that_a_method_returns_is_shown_in_words():
    new = ["returns", [["{}", "is", "@subject"]], "{}", None, False, None, False]
    old = ["raises", [], "{}", None, True, ["ValueError", "no", 1], False]
    assert shown(new, old, "exception") == "the object itself"


OPTION_TESTS = '''
from cart import total

def test_total():
    items = [1, 2]
    assert total(items) == 3
'''


def test_pieces_of_tests_get_options_that_nobody_passes(tmp_path):
    found, _ = loaded(tmp_path, {"cart.py": "def total(items, rate=1, *, strict=False):\n    return sum(items) * rate, strict\n", "test_cart.py": OPTION_TESTS})
    (piece,) = found
    assert [each[:3] for each in snippet_options.options(piece, {})] == [(0, "total", "rate"), (0, "total", "strict")]
    made = snippet_options.with_option(piece, 0, "strict")
    assert made.parts(piece.literals + ((None, "True"),)) == ("items = [1, 2]", "total(items, strict=True)")
    assert snippet_options.derived(made.key, {piece.key: piece}).key == made.key
    assert snippet_options.derived("cart.total", {}) is None
    assert snippet_options.values(False, []) == ["True"]
    assert "'%'" in snippet_options.values("a", ["%"])


@pytest.mark.parametrize("source, expected", [("1.5", "float('nan')"), ("'a'", "'a'.encode()"), ("[1]", "iter([1])"), ("{'a': 1}", "list({'a': 1}.items())")])
def test_values_have_other_forms(source, expected):
    forms = diff_edges.other_forms(source, ast.literal_eval(source))
    assert expected in forms
    for form in forms:
        eval(form)


@pytest.mark.parametrize("value, expected", [("ab1", "ab1\n"), ("ab1", "ab\u0661"), ("ab1", "ab1%"), (3, -3), ([1, 2], []), ({"a": 1}, {}), ([1], [1, "%"]), ({"a": 1}, {"a": 1, "%": 1})])
def test_edits_reach_what_changes_are_often_about(value, expected):
    assert expected in diff_edges.edits(value, ["%"])


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_what_the_old_version_did_not_run_in_time_tells_nothing():
    suite = diff_suite.Suite(types.SimpleNamespace(request={}), [], [])
    suite.seen = {"old": {}, "new": {"a": {"outcome": "passed"}}}
    assert suite._tells("a")
    suite.is_old_late = True
    assert not suite._tells("a")
    suite.seen["old"] = {"a": {"outcome": "failed"}}
    assert suite._tells("a")


HARD = '''
import hashlib


def total(order):
    digest = hashlib.sha1(order.code.encode()).hexdigest()
    if digest == "%s":
        return order.price%s
    return order.price
'''
HARD_TESTS = '''
import types
import pytest
from tests.values import CODE
from shop import total


@pytest.fixture
def order():
    return types.SimpleNamespace(code=CODE, price=1)


def test_old(order):
    assert order.price == 1


@pytest.mark.parametrize("more", [0, 5])
def test_total(order, more):
    order.price += more
    assert total(order) == 3 + more
'''


def test_a_test_that_passes_on_the_new_version_only_is_a_difference(tmp_path):
    """Nobody guesses the input of this change, and the test that knows it needs a fixture and a file of the new version."""
    import hashlib

    digest = hashlib.sha1(b"K7-gamma").hexdigest()
    tests = {"tests/__init__.py": "", "tests/test_shop.py": HARD_TESTS, "tests/values.py": "CODE = 'K7-gamma'\n"}
    write(tmp_path / "old", {"shop.py": HARD % (digest, ""), "tests/__init__.py": "", "tests/test_shop.py": HARD_TESTS.partition("@pytest.mark")[0].replace("from tests.values import CODE", "CODE = ''")})
    write(tmp_path / "new", dict(tests, **{"shop.py": HARD % (digest, " + 2")}))
    request = {
        "mode": "suite", "old_root": str(tmp_path / "old"), "new_root": str(tmp_path / "new"), "file": "shop.py", "seed": 1, "budget": 1,
        "changed": [{"file": "shop.py", "old_lines": [[8, 8]], "new_lines": [[8, 8]], "spans": [[5, 9]], "functions": [["total", 5, 9]]}],
        "changed_tests": ["tests/test_shop.py", "tests/values.py"], "search_path": [], "seconds_left": 200, "tests": {"change": True, "guard": False},
        "commit": None, "suite": []}
    path = tmp_path / "request.json"
    path.write_text(json.dumps(request))
    ran = subprocess.run(
        [sys.executable, "-B", os.path.join(HELPERS, "wavecrew_testgen"), str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=280)
    outcome = json.loads(ran.stdout.decode().splitlines()[-1])["outcome"]
    (difference,) = outcome["differences"]
    assert (difference["kind"], difference["function"], difference["new_lines"]) == ("test", "total", [[8, 8]])
    assert difference["setup"] == ["more = 0"]
    assert difference["input"] == "assert total(order) == 3 + more"
    assert difference["before"].startswith("fails: AssertionError") and difference["after"] == "passes"
    (written,) = outcome["tests"]
    assert (written["name"], written["tests"]) == ("tests/test_total_change.py", ["test_total"])
    assert "def test_total(order):" in written["text"] and "test_old" not in written["text"]


GOLDEN_TESTS = '''
import pathlib
import pytest
from shop import shown

FOLDER = pathlib.Path(__file__).parent / "data"


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.in")))
def test_shown(name):
    assert shown((FOLDER / (name + ".in")).read_text()) == (FOLDER / (name + ".out")).read_text()
'''


def test_an_unchanged_test_that_reads_changed_data_tells_the_versions_apart(tmp_path):
    shop = "import zlib\n\ndef shown(text):\n    return text + '%s' if zlib.crc32(text.encode()) == 3593089068 else text\n"
    tests = {"tests/test_shop.py": GOLDEN_TESTS, "tests/data/a.in": "a", "tests/data/a.out": "a"}
    write(tmp_path / "old", dict(tests, **{"shop.py": shop % ""}))
    write(tmp_path / "new", dict(tests, **{"shop.py": shop % "!", "tests/data/b.in": "order 66 of may", "tests/data/b.out": "order 66 of may!"}))
    request = {
        "mode": "suite", "old_root": str(tmp_path / "old"), "new_root": str(tmp_path / "new"), "file": "shop.py", "seed": 1, "budget": 1,
        "changed": [{"file": "shop.py", "old_lines": [[4, 4]], "new_lines": [[4, 4]], "spans": [[3, 4]], "functions": [["shown", 3, 4]]}],
        "changed_tests": [], "test_data": ["tests/data/b.in", "tests/data/b.out"], "search_path": [], "seconds_left": 200,
        "tests": {"change": True, "guard": False}, "commit": None, "suite": []}
    path = tmp_path / "request.json"
    path.write_text(json.dumps(request))
    ran = subprocess.run(
        [sys.executable, "-B", os.path.join(HELPERS, "wavecrew_testgen"), str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=280)
    (difference,) = json.loads(ran.stdout.decode().splitlines()[-1])["outcome"]["differences"]
    assert (difference["kind"], difference["function"], difference["after"]) == ("test", "shown", "passes")
