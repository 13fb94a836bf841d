"""Runs the tests that a change touches on both versions. A test that passes only on the new version tells the versions apart,
and becomes a difference; tests that reach changed code are where the search for inputs starts.
"""
import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from . import child_process
from .formatting import format_file
from .import_paths import import_folders
from .style import style_of

MAX_FILES = 5000
MAX_TESTS = 200
MAX_BYTES = 100 << 20
FIRST_SHARE = 0.6  # of the time; the rest is for copies of single tests
CAUSES, PER_CAUSE = 8, 2
MAX_COPIES = 5  # of one cause
MAX_SHOWN = 300
TEST_FOLDERS = ("test", "tests", "testing", "fixtures", "testdata", "examples")
OWN_VERSION = re.compile(r"version", re.IGNORECASE)


def _count(items, what):
    return "%d %s%s" % (len(items), what, "" if len(items) == 1 else "s")


def _passing(number):
    return "1 test passes" if number == 1 else "%d tests pass" % number


class Suite:
    """`diff` is the comparison: see `diff_driver.Diff`."""

    def __init__(self, diff, test_files, readers):
        self.diff = diff
        self.request = diff.request
        self.test_files = test_files  # that the change touches, relative to a root
        self.readers = readers  # that may read data which the change touches
        self.seen = {}
        self.is_old_late = False  # whether the old version did not run all tests in time

    def run(self):
        if not hasattr(ast, "unparse"):
            return
        changed = self._changed()
        tests = changed or self.readers
        if not tests:
            return
        with tempfile.TemporaryDirectory(prefix="wavecrew-testgen-") as folder:
            self.folder = folder
            with ThreadPoolExecutor(2) as pool:
                ready = list(pool.map(self._make_copy, ("old", "new")))
            if not all(ready):
                return
            self.diff.progress("running %s in both versions" % _count(tests, "changed test" if changed else "test file"))
            self.seen = self._both(tests, self.diff.seconds_left() * FIRST_SHARE, 1)
            if not any(map(self._tells, self.seen["new"])):
                # An unchanged test may pass on the new version only, too.
                self.seen = self._both(self.test_files + self.readers, self.diff.seconds_left() * FIRST_SHARE, 1)
            self._note_reached()
            self._add_differences()

    def _changed(self):
        """The new and changed tests, in turns from all files."""
        found = []
        for file in self.test_files:
            known = _tests_of(os.path.join(self.diff.old_root, file))
            tests = _tests_of(os.path.join(self.diff.new_root, file))
            found += [(rank, "%s::%s" % (file, name)) for rank, name in enumerate(name for name in tests if known.get(name) != tests[name])]
        return [name for _, name in sorted(found, key=lambda pair: pair[0])][:MAX_TESTS]

    # -- the two versions --------------------------------------------------------------------------------------------

    def _root(self, version):
        return os.path.join(self.folder, version)

    def _make_copy(self, version):
        """Copies a version, with the tests of the new one. Returns whether it is small enough."""
        source = self.diff.new_root if version == "new" else self.diff.old_root
        count, size = 0, 0
        for inner in self._files(source):
            path = os.path.join(source, inner)
            if version == "old" and self._is_of_tests(inner):
                continue
            count, size = count + 1, size + os.path.getsize(path)
            if count > MAX_FILES or size > MAX_BYTES:
                return False
            self._place(path, version, inner)
        if version == "old":
            for inner in self._files(self.diff.new_root):
                if self._is_of_tests(inner):
                    self._place(os.path.join(self.diff.new_root, inner), version, inner)
        return True

    def _is_of_tests(self, path):
        """Whether a file is a test, or data of tests, and no source that changed."""
        from .diff_driver import is_test_file

        is_own = is_test_file(path) or any(folder in TEST_FOLDERS for folder in path.split(os.sep)[:-1])
        return is_own and all(one["file"] != path for one in self.request["changed"])

    def _files(self, root):
        from .diff_driver import SKIPPED

        for folder, folders, files in os.walk(root):
            folders[:] = sorted(each for each in folders if each not in SKIPPED and not os.path.islink(os.path.join(folder, each)))
            for name in files:
                path = os.path.join(folder, name)
                if os.path.isfile(path):
                    yield os.path.relpath(path, root)

    def _place(self, path, version, inner):
        target = os.path.join(self._root(version), inner)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(path, target)

    # -- running -----------------------------------------------------------------------------------------------------

    def _both(self, tests, seconds, hash_seed, zone="UTC"):
        """The events of tests by id, for each version."""
        seconds = min(seconds, self.diff.seconds_left())
        with ThreadPoolExecutor(2) as pool:
            running = {version: pool.submit(self._run, version, tests, seconds, hash_seed, zone) for version in ("old", "new")}
            return {version: one.result() for version, one in running.items()}

    def _run(self, version, tests, seconds, hash_seed, zone):
        root = self._root(version)
        request = {
            "root": root, "tests": list(tests), "seconds": seconds, "sys_path": import_folders(root, self.diff._sys_path(root)),
            "changed": [{"path": os.path.join(root, one["file"]), "lines": one[version + "_lines"]} for one in self.request["changed"]]}
        with tempfile.TemporaryDirectory(prefix="wavecrew-testgen-") as folder:
            request["folder"] = os.path.join(folder, "scratch")
            os.mkdir(request["folder"])
            path = os.path.join(folder, "request.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(request, file)
            env = dict(child_process.environment(hash_seed, zone), TMPDIR=request["folder"], PYTHONPATH=os.pathsep.join(request["sys_path"]))
            child = subprocess.Popen(
                [sys.executable, "-s", child_process.PROGRAM, "--suite", path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, cwd=root, env=env, start_new_session=True)
            try:
                printed, is_whole = self._read(child, seconds)
            finally:
                child_process._kill(child)
        events = []
        for line in printed.splitlines():
            try:
                events.append(json.loads(line))
            except ValueError:
                continue
        if version == "old" and (not is_whole or any(event["event"] == "late" for event in events)):
            self.is_old_late = True
        return {event["id"]: event for event in events if event["event"] == "test"}

    def _read(self, child, seconds):
        """What a child prints until it ends, its time is up or the search is stopped, and whether it ended."""
        until = time.monotonic() + seconds + 1
        os.set_blocking(child.stdout.fileno(), False)
        printed = b""
        while time.monotonic() < until and not child_process.stopping.is_set():
            data = child.stdout.read()
            if data:
                printed += data
            elif data == b"":
                return printed.decode("utf-8", "replace"), True
            else:
                time.sleep(0.05)
        return printed.decode("utf-8", "replace"), False

    # -- results -----------------------------------------------------------------------------------------------------

    def _note_reached(self):
        outcome = self.diff.outcome
        both = self.seen["old"].keys() & self.seen["new"].keys()
        outcome["calls"] += len(both)
        for version, events in self.seen.items():
            for event in events.values():
                for file, lines in event["lines"].items():
                    known = outcome["reached"][version].setdefault(file, [])
                    known += [line for line in lines if line not in known]
        outcome["suite"] = [
            {"file": event["file"], "owner": event["owner"], "function": event["function"], "telling": self._tells(test),
             "files": sorted(set(event["lines"]) | set(self.seen["old"].get(test, event)["lines"]))}
            for test, event in self.seen["new"].items()]

    def _tells(self, test):
        old = self.seen["old"].get(test)
        failed = not self.is_old_late if old is None else old["outcome"] == "failed"
        return self.seen["new"][test]["outcome"] == "passed" and failed

    def _lines(self, test, seen):
        """The changed lines that a test reaches, as triples of version, file and line."""
        return [(version, file, line) for version in ("old", "new") for file, lines in seen[version].get(test, {"lines": {}})["lines"].items()
                for line in lines]

    def _add_differences(self):
        causes = {}
        for test in self.seen["new"]:
            if not self._tells(test):
                continue
            lines = self._lines(test, self.seen)
            if not lines and OWN_VERSION.search(test):
                continue  # the number of the release
            # Without changed lines, something changed at import, and every test may have a cause of its own.
            key = frozenset(self._places(lines)) or self.seen["new"][test]["function"]
            causes.setdefault(key, []).append(test)
        if not causes:
            return
        chosen = []
        for _, tests in sorted(causes.items(), key=lambda item: (isinstance(item[0], str), len(item[0])))[:CAUSES]:
            tests.sort(key=lambda test: (self.seen["old"].get(test) is None, len(test)))
            chosen.append(tests[:PER_CAUSE])
        self.diff.progress("%s only on the new version: reducing %d" % (_passing(sum(map(len, causes.values()))), len(chosen)))
        self._reduce(chosen)

    def _places(self, lines):
        for version, file, line in lines:
            for one in self.request["changed"]:
                if one["file"] == file:
                    for number, (first, last) in enumerate(one[version + "_lines"]):
                        if first <= line <= last:
                            yield version, file, number

    def _reduce(self, chosen):
        """For each cause, the shortest copy of a test that passes only on the new version."""
        made = []  # by cause: copies, the shortest first
        for number, tests in enumerate(chosen):
            copies = []
            for test in tests:
                copies += self._copies(self.seen["new"][test], self.seen["old"].get(test))
            copies.sort(key=lambda one: len(one["text"]))
            del copies[MAX_COPIES:]
            made.append(copies)
        files = {}
        for number, copies in enumerate(made):
            for rank, one in enumerate(copies):
                folder, name = os.path.split(one["source"])
                one["file"] = os.path.join(folder, "test_%s_%d_%d.py" % (one["stem"], number, rank))
                one["rank"] = rank
                files[one["file"]] = one
        for version in ("old", "new"):
            for file, one in files.items():
                with open(os.path.join(self._root(version), file), "w", encoding="utf-8") as out:
                    out.write(one["text"])
        # The shortest copies of all causes first, and last the tests themselves.
        order = sorted(files, key=lambda file: files[file]["rank"]) + [test for tests in chosen for test in tests]
        again = self._both(order, self.diff.seconds_left(), 4242, "Asia/Kolkata")
        for tests, copies in zip(chosen, made):
            for one in copies:
                found = [test for test in again["new"] if test.partition("::")[0] == one["file"]]
                if found and all(self._differs(test, again) for test in found):
                    self._add(one, found[0], again, [test.partition("::")[2] for test in found])
                    break
            else:
                for test in tests:
                    if test in again["new"] and self._differs(test, again):
                        self._add(self._whole(self.seen["new"][test]), test, again, [])
                        break

    def _differs(self, test, seen):
        old = seen["old"].get(test)
        return seen["new"][test]["outcome"] == "passed" and old is not None and old["outcome"] == "failed"

    def _copies(self, event, old):
        from .test_copies import copies

        try:
            with open(os.path.join(self._root("new"), event["file"]), encoding="utf-8") as file:
                text = file.read()
            stem = re.sub(r"\W+", "_", event["function"]).lower()
            stem = re.sub(r"^test_?", "", stem) or "example"
            return [{"text": self._headed(shown, event), "body": body, "source": event["file"], "stem": stem, "event": event}
                    for shown, body in copies(text, dict(event, error=old and old["error"]))]
        except (OSError, ValueError, SyntaxError, RecursionError, AttributeError):
            return []

    def _whole(self, event):
        return {"text": None, "body": None, "event": event, "source": event["file"], "stem": ""}

    def _headed(self, text, event):
        commit = self.request.get("commit")
        note = '"""Reduced from %s in %s%s.\n\nA failure means that behaviour changed, not that the change is wrong.\n"""\n' % (
            event["function"], event["file"], ", as of commit %s" % commit if commit else "")
        return format_file(note + text, style_of(self.diff.new_root, []))

    def _add(self, one, test, seen, names):
        """A difference from a test that passes only on the new version."""
        lines = self._lines(test, seen)
        at_import = not lines
        if at_import:
            lines = [(version, file, line) for version, files in self.diff.at_import.items() for file, some in files.items() for line in some]
        files = [file for _, file, _ in lines]
        cause = max(sorted(set(files)), key=files.count) if files else self.request["changed"][0]["file"]
        from .diff_driver import _ranges

        ranges = {version: _ranges(line for each, file, line in lines if each == version and file == cause) for version in ("old", "new")}
        shown = [ast.unparse(node) for node in one["body"]] if one["body"] else ["pytest %s" % test]
        error = (seen["old"].get(test) or {}).get("error") or ["an error", "", 0]
        before = "fails: %s" % ": ".join(filter(None, (error[0], error[1].split("\n")[0])))
        difference = {
            "file": cause, "function": self._function(cause, ranges) or one["event"]["function"], "line": (ranges["new"] or [[0]])[0][0],
            "kind": "test", "setup": [line for text in shown[:-1] for line in text.split("\n")] + shown[-1].split("\n")[:-1],
            "input": shown[-1].split("\n")[-1], "before": before[:MAX_SHOWN].replace(self._root("old"), "<project>"), "after": "passes",
            "old_lines": ranges["old"], "new_lines": ranges["new"], "cause_file": cause, "inputs": 1,
            "test": one["text"] if (self.request.get("tests") or {}).get("change") else None}
        self.diff.outcome["differences"].append(difference)
        if difference["test"] is not None:
            folder = os.path.dirname(one["source"])
            self.diff.outcome["tests"].append({
                "name": os.path.join(folder, "test_%s_change.py" % one["stem"]), "text": one["text"], "tests": names, "kind": "change"})
        print(json.dumps({"difference": difference}), flush=True)

    def _function(self, cause, ranges):
        for changed in self.request["changed"]:
            if changed["file"] == cause:
                for name, first, last in changed.get("functions", ()):
                    if any(first <= line <= last for pair in ranges["new"] for line in pair):
                        return name
        return None


def _tests_of(path):
    """The tests of a file by name, each as text without layout."""
    try:
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
    except (OSError, ValueError, SyntaxError):
        return {}
    found = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found.update(("%s::%s" % (node.name, each.name), ast.dump(each)) for each in node.body
                         if hasattr(each, "name") and each.name.startswith("test"))
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test"):
            found[node.name] = ast.dump(node)
    return found
