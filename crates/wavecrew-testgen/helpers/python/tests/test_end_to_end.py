"""Test generation for whole modules."""
import glob
import os
import re
import subprocess
import sys

import pytest
from conftest import FULL_DEPTH


def passes(outcome):
    """Runs the written tests with pytest. Returns whether all pass."""
    path = outcome["written"][0]["path"]
    project = os.path.dirname(outcome["file"])
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", path], stdout=subprocess.PIPE,
        env=dict(os.environ, PYTHONPATH=project, PYTHONDONTWRITEBYTECODE="1"), cwd=os.path.dirname(path))
    return ran.returncode == 0


def fails(outcome):
    """Whether each test in quarantine fails."""
    path = outcome["defects"][0]["quarantine"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", path], stdout=subprocess.PIPE,
        env=dict(os.environ, PYTHONPATH=os.path.dirname(outcome["file"]), PYTHONDONTWRITEBYTECODE="1"))
    words = ran.stdout.decode()
    return "%d failed" % len(outcome["defects"]) in words and "passed" not in words


def test_a_function_gets_a_table_of_simple_inputs(generate):
    outcome, text = generate(
        "def grade(score: int) -> str:\n"
        "    if score < 0 or score > 100:\n        raise ValueError('score out of range')\n"
        "    if score >= 90:\n        return 'A'\n    return 'B' if score >= 75 else 'F'\n")
    assert outcome["lines"][0] == outcome["lines"][1]
    assert outcome["mutants"]["survived"] == 0
    assert "@pytest.mark.parametrize(" in text
    assert 'match=' in text and "ValueError" in text
    assert "from sample import grade" in text
    assert passes(outcome)


def test_the_same_seed_writes_the_same_tests(generate):
    source = "def sign(n):\n    if n > 0:\n        return 1\n    return -1 if n < 0 else 0\n"
    one, first = generate(source)
    two, second = generate(source)
    assert [w["tests"] for w in one["written"]] == [w["tests"] for w in two["written"]]
    assert first == second
    assert one["written"][0]["path"] != two["written"][0]["path"]


def test_methods_are_called_and_state_is_asserted(generate):
    outcome, text = generate(
        "class Counter:\n    def __init__(self, start=0):\n        self.value = start\n"
        "    def add(self, n):\n        if n < 0:\n            raise ValueError('negative')\n        self.value += n\n"
        "    def __len__(self):\n        return self.value\n")
    assert "counter.add(" in text
    assert "assert counter.value ==" in text
    assert "len(" in text
    assert passes(outcome)


def test_an_object_that_wraps_a_function_is_called(generate):
    outcome, text = generate(
        "import functools\nclass Cached:\n"
        "    def __init__(self, func):\n        self.func = func\n        self.known = {}\n        functools.update_wrapper(self, func)\n"
        "    def __call__(self, *args):\n        if args not in self.known:\n            self.known[args] = self.func(*args)\n"
        "        return self.known[args]\n\n\ndef cached():\n    def decorate(func):\n        return Cached(func)\n    return decorate\n")
    assert "cached()(abs)" in text and "result(-2) == 2" in text, text
    assert passes(outcome)


def test_attributes_that_cannot_be_written_cost_no_other_test(generate):
    outcome, text = generate(
        "class Bag:\n    def __init__(self, size: int):\n        self.size = size\n        self.__dict__['class'] = size\n        self.__dict__['a b'] = 1\n"
        "    def grow(self):\n        self.size += 1\n        self.__dict__['class'] = self.size\n\n\ndef twice(n: int):\n    return n * 2\n")
    assert "twice(" in text and "bag.size ==" in text, outcome
    assert ".class" not in text
    assert passes(outcome)


def test_numbers_are_round(generate):
    outcome, text = generate(
        "def check(maxsize):\n    if maxsize is not None and maxsize < 0:\n        raise ValueError('maxsize must be non-negative')\n    return maxsize\n")
    assert "check(-1)" in text or "pytest.param(-1," in text, text
    assert passes(outcome)


def test_doctest_inputs_are_used_and_disagreeing_ones_are_defects(generate):
    outcome, text = generate(
        'def shout(text):\n    """\n    >>> shout("hello there")\n    \'HELLO THERE!\'\n'
        '    >>> shout("other words")\n    \'OTHER WORDS\'\n    """\n    return text.upper()\n')
    assert [d["kind"] for d in outcome["defects"]] == ["example disagrees"]
    assert outcome["defects"][0]["call"] == 'shout("hello there")'
    assert outcome["defects"][0]["line"] == 3
    quarantine = outcome["defects"][0]["quarantine"]
    assert os.path.basename(quarantine).startswith("quarantine_")
    assert fails(outcome)
    assert "other words" in text


def test_round_trips_that_fail_are_defects(generate):
    outcome, _ = generate(
        'def encode_key(text: str) -> str:\n    """The inverse of `decode_key`."""\n    return text.replace("b", "B")\n\n\n'
        "def decode_key(text: str) -> str:\n    return text.replace('B', 'b')\n")
    assert "round trip" in [d["kind"] for d in outcome["defects"]]
    assert fails(outcome)


def test_internal_errors_on_documented_input_are_defects(generate):
    outcome, _ = generate("def first(items: list) -> int:\n    return items[0]\n")
    found = outcome["defects"]
    assert [d["kind"] for d in found] == ["internal error"]
    assert found[0]["call"] == "first([])"
    assert fails(outcome)


def test_a_later_round_does_not_repeat_a_defect(generate):
    source = "def first(items: list) -> int:\n    return items[0]\n"
    generate(source)
    outcome, _ = generate(source, feedback={"uncovered": [[2, 2]], "survivors": [], "failing": [], "refused": []})
    assert outcome["defects"] == []


def test_the_rows_of_a_table_are_inputs(generate):
    rows = {"quiz": "quizzes", "ox": "oxen", "mouse": "mice", "goose": "geese", "child": "children", "foot": "feet", "tooth": "teeth"}
    source = "ROWS = [\n%s]\n\n\ndef plural(word: str) -> str:\n    for one, many in ROWS:\n" % "".join(
        "    (%r, %r),\n" % row for row in rows.items())
    _, text = generate(source + "        if word == one:\n            return many\n    return word + 's'\n", budget=3.0)
    assert [word for word in rows if repr(word) not in text.replace('"', "'")] == []


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("def f(:\n", "does not parse"),
        ("import nothing_of_that_name\n", "import fails: ModuleNotFoundError"),
        ("import sys\nsys.exit(3)\n", "import fails: SystemExit"),
        ("raise KeyboardInterrupt\n", "import fails: KeyboardInterrupt"),
        ("import os\nos._exit(0)\n", "the import dies"),
        ("import subprocess\nsubprocess.run(['true'])\n", "the sandbox refuses what the import does: subprocess.Popen"),
        ("import socket\nsocket.create_connection(('127.0.0.1', 9))\n", "the sandbox refuses what the import does"),
        ("open('/tmp/wavecrew-testgen-must-not-exist', 'w')\n", "the sandbox refuses what the import does: writing"),
        ("VALUE = 3\n", "has no function or class to call"),
        ("x = []\nwhile True:\n    x.append('x' * 1000000)\n", "import fails: MemoryError"),
    ],
)
def test_modules_that_cannot_be_tested_have_a_reason(generate, source, why):
    outcome, _ = generate(source)
    assert outcome["written"] == []
    assert why in outcome["left_out"][0]["why"]
    assert not os.path.exists("/tmp/wavecrew-testgen-must-not-exist")


@pytest.mark.parametrize(
    "misbehaving",
    [
        "def bad(n: int):\n    while n > 2:\n        pass\n    return n\n",
        "def bad(n: int):\n    return bad(n + 1) if n else 0\n",
        "import os\ndef bad(n: int):\n    if n > 3:\n        os._exit(1)\n    return n\n",
        "import sys\ndef bad(n: int):\n    if n > 3:\n        sys.exit(n)\n    return n\n",
        "def bad(n: int):\n    return len('x' * (10 ** 11 if n > 3 else 1))\n",
        "import sys\ndef bad(n: int):\n    sys.stdout.buffer.write(b'\\xff\\x00{\"event\": 1}\\n')\n    return n\n",
        "import builtins\nbuiltins.print = None\ndef bad(n: int):\n    return n\n",
        "import threading, time\ndef bad(n: int):\n    threading.Thread(target=lambda: time.sleep(9), daemon=True).start()\n",
        "def bad(n: int):\n    return input()\n",
        "import subprocess\ndef bad(n: int):\n    return subprocess.check_output(['true'])\n",
        "import os\ndef bad(n: int):\n    open('/tmp/wavecrew-testgen-must-not-exist', 'w').close()\n",
        "import time\ndef bad(n: int):\n    time.sleep(100)\n    return n\n",
        "import random\ndef bad(n: int):\n    return random.random() + id(object())\n",
        "import signal\ndef bad(n: int):\n    try:\n        while True:\n            pass\n    except BaseException:\n        return n\n",
    ],
)
def test_one_misbehaving_function_does_not_stop_the_others(generate, misbehaving):
    outcome, text = generate(misbehaving + "\n\ndef good(n: int) -> int:\n    return n * 3\n")
    assert "good(" in text
    assert passes(outcome)
    assert not os.path.exists("/tmp/wavecrew-testgen-must-not-exist")


def test_an_endless_call_is_a_defect(generate):
    outcome, _ = generate("def spin(n: int) -> int:\n    while n > 2:\n        pass\n    return n\n")
    found = [d for d in outcome["defects"] if d["kind"] == "does not end"]
    with open(found[0]["quarantine"]) as file:
        assert found[0]["call"] in file.read()


def test_modules_that_import_each_other(generate, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    (project / "other.py").write_text("import sample\n\ndef half(n):\n    return sample.double(n) / 4\n")
    outcome, text = generate("import other\n\ndef double(n: int) -> int:\n    return n * 2\n")
    assert "double(" in text
    assert passes(outcome)


def test_a_circular_import_is_reported(generate, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    (project / "other.py").write_text("from sample import double\n")
    outcome, _ = generate("from other import double as twice\n\ndef double(n):\n    return n * 2\n")
    assert "import fails: ImportError" in outcome["left_out"][0]["why"]


def test_import_output_is_ignored_and_compiled_modules_are_dropped(generate, tmp_path):
    outcome, text = generate(
        "import sys, zlib\nsys.stdout.write('loading\\n')\nsys.argv.append('x')\n\n"
        "def checksum(text: str) -> int:\n    return zlib.crc32(text.encode())\n")
    assert "checksum(" in text
    assert passes(outcome)
    outcome, _ = generate(b"\x7fELF\x00\x00", name="fast", file=str(tmp_path / "project" / "fast.so"))
    assert "compiled" in outcome["left_out"][0]["why"]


SYNTAX = {
    (3, 8): "def new(n: int, /) -> int:\n    if (half := n // 2) > 3:\n        return half\n    return n\n",
    (3, 9): "def new(n: int) -> dict[str, int]:\n    return {'a': 1} | {'n': n}\n",
    (3, 10): "def new(n: int | str):\n    match n:\n        case 0:\n            return 'zero'\n        case str():\n            return 'text'\n    return n\n",
    (3, 11): "def new(n: int):\n    try:\n        raise ExceptionGroup('g', [ValueError(n)])\n    except* ValueError:\n        n += 1\n    return n\n",
    (3, 12): "type Pair[T] = tuple[T, T]\n\ndef new[T](n: T) -> Pair[T]:\n    return (n, n)\n",
    (3, 13): "def new[T = int](n: T) -> list[T]:\n    return [n]\n",
}


def interpreters():
    """The Pythons from 3.8 on that this machine has, by version: the oldest and the newest, or all at full depth."""
    found = {sys.version_info[:2]: sys.executable}
    homes = [os.path.join(os.path.expanduser("~"), ".pyenv", "versions", "3.*", "bin", "python"), "/usr/bin/python3.*"]
    for path in sorted(path for home in homes for path in glob.glob(home)):
        version = re.search(r"3\.(\d+)", path)
        if version and int(version[1]) >= 8 and not path.endswith("-config"):
            found.setdefault((3, int(version[1])), path)
    versions = sorted(found.items())
    return versions if FULL_DEPTH else [versions[0], versions[-1]][:len(versions)]


@pytest.mark.parametrize(("version", "python"), interpreters(), ids=lambda value: str(value).split("/")[-1])
def test_syntax_of_each_version(generate, version, python):
    newest = max(known for known in SYNTAX if known <= version)
    outcome, text = generate(SYNTAX[newest] + "\n\ndef old(n: int) -> int:\n    return n + 1\n", python=python)
    assert "new(" in text and "old(" in text, outcome
    if newest > (3, 8) and version == newest:
        older = [path for known, path in interpreters() if known < newest]
        if older:
            outcome, _ = generate(SYNTAX[newest], name="later", python=older[0])
            assert outcome["left_out"], "an older Python says what it cannot read"


def test_files_follow_the_naming_of_the_project(generate, tmp_path):
    (tmp_path / "project" / "tests").mkdir(parents=True)
    (tmp_path / "project" / "tests" / "old_test.py").write_text("def test_it():\n    assert True\n")
    outcome, _ = generate("def double(n: int) -> int:\n    return n * 2\n")
    assert os.path.basename(outcome["written"][0]["path"]) == "sample_behaviour_test.py"


def test_failed_tests_of_an_earlier_round_are_not_written_again(generate, tmp_path):
    source = "def sign(n: int) -> int:\n    if n > 0:\n        return 1\n    return -1 if n < 0 else 0\n"
    first, _ = generate(source)
    failing = first["written"][0]["tests"][:1]
    second, _ = generate(source, feedback={"uncovered": [], "survivors": [], "failing": failing}, out=str(tmp_path / "again"))
    assert failing[0] not in second["written"][0]["tests"]
    assert "1 tests failed in an earlier round" in [left["why"] for left in second["left_out"]]


def test_results_that_depend_on_the_date_are_dropped(generate):
    outcome, text = generate(
        "import datetime\n\ndef age(year: int) -> int:\n    return datetime.date.today().year - year\n\n"
        "def twice(n: int) -> int:\n    return n * 2\n")
    assert "age(" not in text
    assert "twice(" in text


def test_generators_coroutines_context_managers_and_output(generate):
    outcome, text = generate(
        "import contextlib\n\ndef count(n: int):\n    yield from range(n)\n\n"
        "async def later(n: int):\n    return n + 1\n\n"
        "@contextlib.contextmanager\ndef opened(name: str):\n    print('in', name)\n    yield name.upper()\n")
    assert "list(count(" in text
    assert "asyncio.run(later(" in text
    assert "with opened(" in text
    assert "capsys.readouterr().out" in text
    assert passes(outcome)


def test_files_of_earlier_rounds_stay_and_feedback_is_used(generate):
    source = "def pick(word: str) -> int:\n    if word == 'needle':\n        return 1\n    return 0\n"
    first, _ = generate(source)
    second, text = generate(source, feedback={"uncovered": [[3, 3]], "survivors": [], "failing": []})
    assert first["written"][0]["path"] != second["written"][0]["path"]
    assert "needle" in text


def test_steps_reuse_arguments_that_worked(generate):
    outcome, text = generate(
        "import re\n\n\nclass Router:\n    def __init__(self):\n        self._routes = []\n"
        "    def add(self, pattern: str) -> None:\n"
        "        if not pattern.startswith('/'):\n            raise ValueError('starts with /')\n"
        "        self._routes.append(re.compile(pattern + '$'))\n"
        "    def match(self, path: str):\n        for route in self._routes:\n            if route.match(path):\n"
        "                return route.pattern\n        return None\n"
        "    def __len__(self):\n        return len(self._routes)\n", budget=3.0)
    assert outcome["lines"][0] == outcome["lines"][1]
    assert "assert len(router) == 1" in text  # what can be seen of a private list
    assert ") is None" in text
    assert passes(outcome)


def test_the_order_of_a_sorted_dictionary_is_asserted(generate):
    outcome, text = generate(
        "def ranked(counts: dict) -> dict:\n    return dict(sorted(counts.items(), key=lambda pair: repr(pair)))\n")
    assert "assert list(ranked(" in text and ".items()) == [(" in re.sub(r"\s*\n\s*", "", text)
    assert passes(outcome)


def test_conditions_on_one_line_are_distinguished(generate):
    outcome, _ = generate(
        "def merge(base, other, lists='replace'):\n    result = dict(base)\n    for key, value in other.items():\n"
        "        if isinstance(value, list) and lists == 'append':\n            result[key] = result.get(key, []) + value\n"
        "        else:\n            result[key] = value\n    return result\n", budget=3.0)
    assert outcome["lines"][0] == outcome["lines"][1]


def test_context_managers_are_not_tested_in_a_table(generate):
    outcome, text = generate(
        "import contextlib\n\n\n@contextlib.contextmanager\ndef opened(name: str):\n"
        "    if name.startswith('a'):\n        yield name.upper()\n    elif len(name) > 3:\n        yield 'long'\n"
        "    else:\n        yield 'short'\n", budget=2.0)
    assert text.count("with opened(") > 1
    assert passes(outcome)


def test_a_method_that_returns_its_object_is_tested_by_what_it_changes(generate):
    _, text = generate(
        "class Query:\n    def __init__(self):\n        self.fields = []\n        self.limits = {}\n        self.sources = []\n"
        "    def select(self, field: str) -> 'Query':\n        self.fields.append(field)\n        return self\n")
    assert "assert query.select(" in text and ") is query\n    assert query.fields == [" in text
    assert "result" not in text


def test_membership_is_asserted_as_a_person_writes_it(generate):
    _, text = generate(
        "class Bag:\n    def __init__(self, items: list[str]):\n        self.items = items\n"
        "    def __contains__(self, item: str) -> bool:\n        if item in self.items:\n            return True\n        return False\n")
    assert re.search(r"assert '?\"?\w*\"?'? in bag\n", text) and re.search(r"assert .* not in bag\n", text)
    assert " is True" not in text


def test_arithmetic_needs_no_brackets_in_an_assertion(generate):
    _, text = generate(
        "class Text(str):\n    def __add__(self, other: str) -> 'Text':\n        return Text(str(self) + other.upper())\n"
        "    def __gt__(self, other: str) -> bool:\n        return len(self) > len(other)\n")
    assert re.search(r"assert \w+ \+ \"\w*\" == \"\w*\"\n", text)
    assert re.search(r"assert \(\w+ > \"\w*\"\) is (True|False)\n", text)
