"""Runs a written file with pytest, outside of the project, to find failing tests."""
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from . import child_process, fixtures
from .import_paths import module_name_and_folder

PYTEST_SECONDS = 400
TOO_LATE = "too late"


def failing_tests(text, name, sys_path, conftests, seconds=PYTEST_SECONDS):
    """Names of tests in a text that do not pass; None without pytest, True when pytest cannot run the file, or `TOO_LATE`.

    The conftest files apply as in the project. When pytest does not start with them, it runs without.
    """
    found = _run(text, name, sys_path, conftests, seconds)
    return _run(text, name, sys_path, [], seconds) if found is None and conftests else found


def _run(text, name, sys_path, conftests, seconds):
    with tempfile.TemporaryDirectory(prefix="wavecrew-testgen-") as folder:
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        report = os.path.join(folder, "junit.xml")
        env = child_process.environment(7, "Asia/Tokyo")
        env["HOME"] = folder
        places = [(module_name_and_folder(conftest)[0], conftest) for conftest in conftests]
        command = [sys.executable, "-s", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml", report, "-o",
                   "junit_family=xunit1", "--rootdir", folder, "-c", os.devnull, "--noconftest", path]
        if places:
            with open(os.path.join(folder, "project_fixtures.py"), "w", encoding="utf-8") as file:
                file.write(fixtures.PLUGIN % places)
            sys_path = sys_path + [folder] + [module_name_and_folder(conftest)[1] for conftest in conftests]
            command += ["-p", "project_fixtures"]
        env["PYTHONPATH"] = os.pathsep.join(sys_path)
        try:
            ran = subprocess.run(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, timeout=max(1.0, seconds))
            tree = xml.etree.ElementTree.parse(report)
        except subprocess.TimeoutExpired:
            return TOO_LATE
        except (OSError, xml.etree.ElementTree.ParseError):
            return None
        names = set()
        for test in tree.iter("testcase"):
            found = [test.find(kind) for kind in ("failure", "error", "skipped")]
            if any(one is not None and one.get("message") == "collection failure" for one in found):
                return True
            if any(one is not None for one in found):
                names.add(test.get("name"))
        # All tests pass but pytest fails: their imports broke it.
        return True if ran.returncode and not names else names


def is_one_of(test, names):
    """Whether a test is among `names`. Parametrised autouse fixtures add to the ids of all tests."""
    base, _, own = test.partition("[")
    for name in names:
        run, _, values = name.partition("[")
        if name == test or run == base and own[:-1] in values[:-1].split("-"):
            return True
        if run == base and not own and values:
            return True
    return False
