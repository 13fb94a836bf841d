"""Modules that misbehave: each problem is reported, and the rest gets tests that pass."""
import os
import sys

import pytest
from test_end_to_end import passes
from wavecrew_testgen import driver, import_paths, test_files
from wavecrew_testgen.process_state import ProcessState

GOOD = "\n\ndef good(n: int) -> int:\n    return n * 3\n"


@pytest.mark.parametrize(
    ("source", "what", "why"),
    [
        ("import sys, io\ndef bad(n: int):\n    sys.stdout = io.StringIO()\n    return n\n", "bad", "changes the standard streams"),
        ("import sys\ndef bad(n: int):\n    sys.stdout.close()\n    return n\n", "bad", "closes standard output"),
        ("import sys\ndef bad(n: int):\n    sys.path.clear()\n    return n\n", "bad", "changes sys.path of"),
        ("import sys\ndef bad(n: int):\n    sys.modules.clear()\n    return n\n", "bad", "changes sys.modules of"),
        ("import builtins\ndef bad(n: int):\n    builtins.sum = None\n    return n\n", "bad", "changes builtins of"),
        ("import os, time\ndef bad(n: int):\n    os.environ['TZ'] = 'Asia/Tokyo'\n    time.tzset()\n", "bad", "changes the time zone of"),
        ("import sys\ndef bad(n: int):\n    return sys.stdin.read()\n", "bad", "reading standard input"),
        ("import builtins\nbuiltins.ascii = lambda x: 42\n", "sample", "the import replaces builtins: ascii"),
        ("open('left.txt', 'w').close()\n", "sample", "the import writes files: left.txt"),
        ("import os\ndef bad(n: int):\n    os.closerange(0, 64)\n", None, "the process dies"),
        ("import signal\ndef bad(n: int):\n    signal.raise_signal(signal.SIGKILL)\n", None, "the process dies"),
    ],
)
def test_only_the_function_that_changes_the_process_is_dropped(generate, source, what, why):
    outcome, text = generate(source + GOOD)
    reported = [dropped for dropped in outcome["left_out"] if why in dropped["why"]]
    assert reported and (what is None or reported[0]["what"] == what), outcome["left_out"]
    assert "good(" in text and "bad(" not in text
    assert passes(outcome)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("two-words", "has a name that no test can import"), ("two.words", "has a name that no test can import"),
        ("class", "has a name that no test can import"), ("__main__", "is a program: importing it runs it"),
    ],
)
def test_names_that_no_test_can_import(generate, name, why):
    outcome, text = generate(GOOD, name=name)
    assert text == "" and outcome["left_out"][0]["why"] == why


def test_a_large_module_is_called_everywhere(generate):
    shape = "def f%d(n: int) -> int:\n    if n > %d:\n        return n - %d\n    return n\n\n\n"
    outcome, _ = generate("".join(shape % (i, i, i) for i in range(400)), budget=1.0)
    assert outcome["lines"][0] >= 400, outcome["lines"]


def test_folders_without_init_are_packages_below_import_folders(tmp_path):
    deep = tmp_path / "src" / "space" / "deep"
    deep.mkdir(parents=True)
    path, root = str(deep / "mod.py"), str(tmp_path)
    src = os.path.join(root, "src")
    assert import_paths.import_candidates(path, root, []) == [("space.deep.mod", src), ("mod", str(deep))]
    assert import_paths.import_candidates(path, root, [str(deep)]) == [("mod", str(deep))]
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = src/space lib\n")
    assert import_paths.import_candidates(path, root, [])[0] == ("deep.mod", os.path.join(src, "space"))
    (tmp_path / "pytest.ini").write_text("")
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = [\n    "src/space/deep",\n]\n')
    assert import_paths.import_candidates(path, root, []) == [("mod", str(deep))]
    assert import_paths.import_candidates(str(tmp_path / "two-words" / "mod.py"), root, []) == [("mod", str(tmp_path / "two-words"))]
    # The root of a project may have an `__init__.py`, for those who copy it into theirs.
    (tmp_path / "tree").mkdir()
    for name in ("__init__.py", "setup.py"):
        (tmp_path / "tree" / name).write_text("")
    tree = str(tmp_path / "tree")
    assert import_paths.import_candidates(os.path.join(tree, "mod.py"), tree, []) == [("mod", tree)]


def test_process_state_is_restored(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    world = ProcessState()
    world.save()
    assert world.restore() is None
    before = dict(os.environ), list(sys.path)
    os.environ["WAVECREW_TRIED"] = "1"
    assert world.restore() is None and dict(os.environ) == before[0]
    sys.path.append("/nowhere")
    assert world.restore() == "changes sys.path of the process" and sys.path == before[1]
    os.chdir("/")
    assert world.restore() == "changes the current folder of the process" and os.getcwd() == str(tmp_path)


def test_refusals_are_reported_even_if_the_process_crashes_later(generate):
    outcome, _ = generate(
        "import os\n\n\ndef wipe(path: str):\n    open('/etc/wavecrew-must-not', 'w')\n\n\n"
        "def leave(n: int):\n    os._exit(n)\n\n\ndef fine(n: int) -> str:\n    return 'big' if n > 7 else 'small'\n")
    assert {"what": "wipe", "why": "writing /etc/wavecrew-must-not"} in outcome["left_out"]


@pytest.mark.parametrize(
    ("source", "command"),
    [
        ("import yaml_of_nobody\n", "-m pip install yaml_of_nobody)"),
        ("import sample._speedups\n", "-m pip install -e .)"),
        ("import importlib.metadata\nVERSION = importlib.metadata.version('sample')\n", "-m pip install -e .)"),
    ],
)
def test_a_failed_import_names_the_command_that_fixes_it(generate, source, command):
    outcome, _ = generate(source + "\n\ndef double(n: int) -> int:\n    return n * 2\n")
    assert outcome["left_out"][0]["why"].endswith(command)


def test_a_module_that_has_no_time_left_says_so(generate):
    outcome, _ = generate("def double(n: int) -> int:\n    return n * 2\n", seconds_left=0.5)
    assert outcome["written"] == [] and "time limit" in outcome["left_out"][0]["why"]


def test_no_child_gets_more_time_than_is_left(tmp_path):
    request = {"root": str(tmp_path), "file": str(tmp_path / "a.py"), "out": str(tmp_path), "seed": 1, "budget": 60.0, "seconds_left": 20.0}
    module = driver.Module(request)
    search = module.child_request(seconds=60.0)
    assert search["wall_seconds"] <= 20.0 * driver.SEARCH_SHARE and search["longest"] <= 20.0
    assert module.child_request(seconds=60.0, mode="check")["wall_seconds"] <= 20.0


def test_a_file_appears_complete_and_replaces_none(tmp_path):
    paths = [test_files.publish(str(tmp_path), "a%d.py".__mod__, text) for text in ("first", "second")]
    assert [os.path.basename(path) for path in paths] == ["a1.py", "a2.py"]
    assert sorted(os.listdir(str(tmp_path))) == ["a1.py", "a2.py"]


def test_modules_of_the_same_name_get_files_of_their_own(tmp_path):
    for name in ("pkg.one.utils", "pkg.two.utils", "pkg.two.utils"):
        files = test_files.TestFiles(str(tmp_path), name, str(tmp_path))
        test_files.publish(str(tmp_path), files.name, '"""%s (seed 1).\n"""\n' % (test_files.ABOUT % name))
    assert sorted(os.listdir(str(tmp_path))) == [
        "test_two_utils_behaviour.py", "test_two_utils_behaviour_2.py", "test_utils_behaviour.py"]


def test_a_module_that_imports_ctypes_gets_tests(generate):
    outcome, text = generate("import ctypes\n\n\ndef width(n: int) -> int:\n    return n * ctypes.sizeof(ctypes.c_int)\n")
    assert "width(" in text
