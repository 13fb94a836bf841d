"""Fixtures of the project in generated tests, and files that calls write."""
import os
import subprocess
import sys

import pytest
from wavecrew_testgen import fixtures, written_files

CART = (
    "class Cart:\n    def __init__(self, owner: str, limit: int):\n        self.owner, self.limit, self.items = owner, limit, {}\n"
    "    def add(self, name: str, count: int = 1) -> None:\n"
    "        if self.size() + count > self.limit:\n            raise OverflowError('cart is full')\n"
    "        self.items[name] = self.items.get(name, 0) + count\n"
    "    def size(self) -> int:\n        return sum(self.items.values())\n\n\n"
    "def discount(config: dict, amount: int) -> float:\n"
    "    return amount * config['rate'] if amount >= config['from'] else amount\n\n\n"
    "def save(cart: Cart, path) -> int:\n    with open(path, 'w') as file:\n        return file.write(repr(cart.items))\n")
CONFTEST = (
    "import random\nimport pytest\nfrom sample import Cart\n\n\n"
    "@pytest.fixture\ndef cart():\n    made = Cart('alice', 5)\n    made.add('tea', 2)\n    return made\n\n\n"
    "@pytest.fixture(name='sample_config')\ndef config():\n    yield {'from': 100, 'rate': 0.5}\n\n\n"
    "@pytest.fixture\ndef cart_path(tmp_path):\n    return tmp_path / 'cart.txt'\n\n\n"
    "@pytest.fixture\ndef amount():\n    return random.randint(0, 10 ** 9)\n\n\n"
    "@pytest.fixture\ndef owner(broken):\n    return 'bob'\n\n\n"
    "@pytest.fixture\ndef broken():\n    raise RuntimeError('never ready')\n")


def project(tmp_path, conftest):
    tests = tmp_path / "project" / "tests"
    tests.mkdir(parents=True)
    (tests / "conftest.py").write_text(conftest)


def runs(outcome, tmp_path):
    """Runs the written tests in the project."""
    folder = tmp_path / "project" / "tests" / "layer"
    folder.mkdir(parents=True, exist_ok=True)
    with open(outcome["written"][0]["path"], encoding="utf-8") as file:
        (folder / "test_sample.py").write_text(file.read())
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)],
        stdout=subprocess.PIPE, cwd=str(tmp_path / "project"),
        env=dict(os.environ, PYTHONPATH=str(tmp_path / "project"), PYTHONDONTWRITEBYTECODE="1")).returncode == 0


def test_tests_use_the_fixtures_of_the_project(generate, tmp_path):
    project(tmp_path, CONFTEST)
    outcome, text = generate(CART, run_folder="tests/layer", budget=2.0)
    assert "(cart):" in text and "cart.add(" in text and "assert cart.items == " in text
    assert "discount(sample_config, " in text
    assert "(cart, cart_path):" in text and "assert cart_path.read_text() == " in text
    for left_out in ("(amount", "owner)", "broken"):
        assert left_out not in text
    assert runs(outcome, tmp_path)
    assert sorted(os.listdir(str(tmp_path / "project"))) == ["sample.py", "tests"]


@pytest.mark.parametrize(
    "conftest",
    [
        "import pytest\nraise RuntimeError('no')\n\n@pytest.fixture\ndef cart():\n    return 1\n",
        "import pytest, sys\n\n@pytest.fixture\ndef cart():\n    sys.exit(1)\n",
        "import pytest, os\n\n@pytest.fixture\ndef cart():\n    os._exit(1)\n",
        "import pytest\n\n@pytest.fixture\ndef cart():\n    while True:\n        pass\n",
        "import pytest, subprocess\n\n@pytest.fixture\ndef cart():\n    return subprocess.run(['true'])\n",
        "def broken(:\n",
    ],
    ids=["does-not-load", "exits", "dies", "hangs", "refused", "no-python"],
)
def test_broken_fixtures_do_not_affect_other_tests(generate, tmp_path, conftest):
    project(tmp_path, conftest)
    outcome, text = generate(CART, run_folder="tests")
    assert "cart = Cart(" in text and "(cart" not in text.replace("save(cart", "")
    assert outcome["lines"][0] == outcome["lines"][1]


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("@pytest.fixture\ndef a():\n    return 1\n", ["a"]),
        ("@fixture()\ndef a(b):\n    yield 1\n@pytest.fixture(scope='function')\ndef b(tmp_path):\n    pass\n", ["a", "b"]),
        ("@pytest.fixture(name='c')\ndef a():\n    return 1\n", ["c"]),
        ("@pytest.fixture\ndef a(request, monkeypatch):\n    pass\n@pytest.fixture\ndef b(a):\n    pass\n", ["a", "b"]),
        ("@pytest.fixture(scope='session')\ndef a(tmp_path_factory):\n    pass\n", ["a"]),
        ("@pytest.fixture(params=[1, 2], ids=str)\ndef a():\n    pass\n", ["a"]),
        ("@pytest.fixture(autouse=True)\ndef a():\n    pass\n", ["a"]),
        ("@pytest_asyncio.fixture\ndef a():\n    pass\n", ["a"]),
        ("def a():\n    pass\n", []),
    ],
)
def test_usable_fixtures(tmp_path, source, names):
    path = tmp_path / "conftest.py"
    path.write_text(source)
    assert fixtures.usable(fixtures.read([str(path)])[1]) == names


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("@pytest.fixture\ndef a(capsys):\n    pass\n", "depends on capsys"),
        ("@pytest.fixture\ndef a(b):\n    pass\n@x\n@pytest.fixture\ndef b():\n    pass\n", "depends on b, which has another decorator"),
        ("@pytest.fixture(scope='session')\ndef a(tmp_path):\n    pass\n", "depends on tmp_path, which has a narrower scope"),
        ("@pytest.fixture(scope='module')\ndef a(b):\n    pass\n@fixture\ndef b():\n    pass\n", "depends on b, which has a narrower scope"),
        ("@pytest.fixture(scope=SCOPE)\ndef a():\n    pass\n", "has the option scope, whose value is not a literal"),
        ("@pytest.fixture\nasync def a():\n    pass\n", "is asynchronous without pytest-asyncio"),
        ("@pytest.fixture\ndef a(a):\n    pass\n", "depends on a fixture of the same name"),
        ("@pytest.fixture\ndef a(b=1):\n    pass\n", "has parameters that are not fixtures"),
    ],
)
def test_unusable_fixtures_have_a_reason(tmp_path, source, why):
    path = tmp_path / "conftest.py"
    path.write_text(source)
    assert fixtures.read([str(path)])[1]["a"].problem == why


def test_a_nearer_conftest_overrides(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "conftest.py").write_text("@pytest.fixture(autouse=True)\ndef a():\n    return 1\n")
    (tmp_path / "tests" / "conftest.py").write_text("@pytest.fixture\ndef a(capsys):\n    return 2\n")
    paths = fixtures.conftests(str(tmp_path), "tests/layer")
    assert [os.path.relpath(path, str(tmp_path)) for path in paths] == ["conftest.py", "tests/conftest.py"]
    nearer = fixtures.read(paths)[1]["a"]
    assert nearer.autouse and nearer.problem == "depends on capsys"
    assert fixtures.usable(fixtures.read(paths[:1])[1]) == ["a"]


def test_autouse_fixtures_of_wider_scope_and_outer_files_come_first(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "conftest.py").write_text("@pytest.fixture(autouse=True)\ndef z():\n    pass\n")
    (tmp_path / "tests" / "conftest.py").write_text("".join(
        "@pytest.fixture(autouse=True, scope='%s')\ndef %s():\n    pass\n" % pair
        for pair in (("function", "b"), ("function", "a"), ("session", "c"))))
    known = fixtures.read(fixtures.conftests(str(tmp_path), "tests"))[1]
    assert fixtures.autouse(known) == ["c", "z", "a", "b"]


def test_written_files_are_asserted_and_removed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("one")
    found = written_files.facts(["notes.txt"], [("a0", "notes.txt")])
    assert found == [("@cwd", "in", "tmp_path"), ("@pathlib.Path('notes.txt').read_text()", "==", "'one'")]
    path = tmp_path / "notes.txt"
    assert written_files.facts([str(path)], [("a0", path)]) == [("@a0.read_text()", "==", "'one'")]
    written_files.clear(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_test_that_writes_files_uses_a_temporary_folder(generate, tmp_path):
    outcome, text = generate("def note(word: str) -> None:\n    with open('note.txt', 'w') as file:\n        file.write(word + '!')\n")
    assert "monkeypatch.chdir(tmp_path)" in text
    assert 'assert pathlib.Path("note.txt").read_text() == ' in text
    assert runs(outcome, tmp_path)
    assert not (tmp_path / "project" / "note.txt").exists()
