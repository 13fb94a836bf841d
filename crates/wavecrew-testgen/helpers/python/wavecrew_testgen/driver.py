"""Generates the tests of one module: searches in a child, checks in new ones, writes, and runs the result with pytest."""
import ast
import json
import keyword
import os
import signal
import sys
import time

from . import child_process, defects, expected_errors, fixtures, pytest_run, quarantine, stability
from .formatting import format_file
from .import_help import with_help
from .import_paths import import_candidates
from .render import Writer
from .style import style_of
from .test_files import ABOUT, TestFiles, is_named, publish, read

RESTARTS = 8
CRASHES_PER_TARGET = 2
# Budgets are processor time; on a busy machine they may take this much wall time.
BUSY_FACTOR = 15
BUSY_SECONDS = 60
MAX_HANGS = 3  # that are confirmed
SHORT_CALL = 0.003  # seconds; a call with smaller numbers that takes longer shows that time grows with them
CONFIRM_SECONDS = 3.0  # before a call counts as endless
SEARCH_SHARE = 0.4  # of the time until the deadline
PYTEST_SHARE = 0.35  # of the whole time, kept for the run of the tests
LEAST_SECONDS = 1.5  # below this, nothing more is started
MISSING = "the import fails: ModuleNotFoundError"


class Module:
    """The work on one module. `outcome` is its result."""

    def __init__(self, request):
        self.request = request
        self.path = os.path.abspath(request["file"])
        self.out = os.path.abspath(request["out"])
        self.import_candidates = import_candidates(self.path, request["root"], request.get("sys_path", []))
        self.name, self.import_root = self.import_candidates.pop(0)
        self.started = time.monotonic()
        left = request.get("seconds_left")
        self.deadline = None if left is None else self.started + left
        self.outcome = {
            "file": request["file"], "module": self.name, "written": [], "defects": [], "left_out": [],
            "lines": None, "mutants": None, "tests": 0, "seed": request["seed"],
        }
        self.uses_hashing = True  # results may depend on the order of sets
        self.excluded = []
        self.corpus = []
        self.hangs = []
        self.refused = {}  # by target: why its calls are dropped, from all processes
        self.abandoned = []
        self.conftest_paths = []  # conftest files that apply to the tests
        self.conftests = []  # the same, if the child can load them
        self.fixtures = {}
        self.autouse = []
        self.unusable_fixtures = {}
        self.parametrised = {}  # by fixture: its parametrised dependencies, with the value to use

    def seconds_left(self):
        """Wall time until the deadline."""
        return float("inf") if self.deadline is None else self.deadline - time.monotonic()

    def is_late(self):
        return self.seconds_left() < LEAST_SECONDS

    def must_run_tests(self):
        """Whether the rest of the time is needed to run the tests."""
        return self.deadline is not None and self.seconds_left() < PYTEST_SHARE * (self.deadline - self.started)

    def report_progress(self, what):
        print(json.dumps({"progress": what, "module": self.name}), flush=True)

    def drop(self, what, why):
        self.outcome["left_out"].append({"what": what, "why": why})

    def run(self):
        result = self._search()
        if result is not None:
            self._write(stability.stable_entries(self, result), result)
        self.outcome["seconds"] = round(time.monotonic() - self.started, 2)
        return self.outcome

    # -- search ------------------------------------------------------------------------------------------------------

    def child_request(self, **more):
        request = {
            "path": self.path, "module": self.name, "packages": [self.name.split(".")[0]],
            "sys_path": self.request.get("sys_path", []) + [self.import_root], "seed": self.request["seed"],
            "example_root": self._example_root(), "corpus": [], "excluded": [], "abandoned": [], "mode": "search",
            "feedback": self.request.get("feedback"), "conftests": self.conftests, "fixtures": self.fixtures,
            "autouse": self.autouse, "unusable_fixtures": self.unusable_fixtures,
        }
        request.update(more)
        request["wall_seconds"] = request["seconds"] * BUSY_FACTOR + BUSY_SECONDS
        if self.deadline is not None:
            left = max(LEAST_SECONDS, self.seconds_left())
            share = SEARCH_SHARE if request["mode"] == "search" else 1.0
            request["wall_seconds"] = min(request["wall_seconds"], left * share)
            request["longest"] = left
        return request

    def _example_root(self):
        """The folder to search for examples: the project, or only the package in a folder of installed packages."""
        root = os.path.abspath(self.request["root"])
        if os.path.basename(root) in ("site-packages", "dist-packages"):
            return os.path.join(root, self.name.split(".")[0])
        return root

    def _search(self):
        if not self.path.endswith(".py"):
            self.drop(self.name, "is not Python source: compiled modules are tested through the modules that use them")
            return None
        odd = [part for part in self.name.split(".") if not part.isidentifier() or keyword.iskeyword(part)]
        if odd or "." in os.path.basename(self.path)[:-3]:
            self.drop(self.name, "has a name that no test can import")
            return None
        try:
            with open(self.path, "rb") as file:
                source = file.read()
            self.uses_hashing = stability.uses_hashing(ast.parse(source))
        except (SyntaxError, ValueError) as error:
            self.drop(self.name, "does not parse: %s" % error)
            return None
        except OSError as error:
            self.drop(self.name, "cannot be read: %s" % error)
            return None
        if self.name.split(".")[-1] == "__main__" and b"__name__" not in source:
            self.drop(self.name, "is a program: importing it runs it")
            return None
        self._find_fixtures()
        left = self.request["budget"]
        for attempt in range(RESTARTS):
            if self.is_late():
                self.drop(self.name, "the time limit came before its search ended")
                return None
            began = time.monotonic()
            ended = child_process.run(
                self.child_request(
                    seconds=max(left, 1.0), seed=self.request["seed"] + attempt, corpus=self.corpus[-stability.MAX_CORPUS:],
                    excluded=self.excluded, abandoned=self.abandoned),
                self.on_event)
            left -= time.monotonic() - began
            for why in [event["why"] for event in ended.events_named("note")] if attempt == 0 else ():
                self.drop(self.name, why)
            refused = ended.last_event("dropped")
            if refused and self.import_candidates and refused["why"].startswith(MISSING):
                self.name, self.import_root = self.import_candidates.pop(0)
                self.outcome["module"] = self.name
                continue
            if refused:
                self.drop(self.name, with_help(refused["why"], self.name, self.request["root"]))
                return None
            if ended.last_event("result"):
                return ended.last_event("result")
            failure = ended.last_event("failed")
            if ended.last_case is None or failure:
                step = "search" if ended.last_event("loaded") else "import"
                self.drop(self.name, failure["why"] if failure else "the %s %s" % (step, ended.why))
                return None
            self.excluded.append(ended.last_case)
            if [data[0] for data in self.excluded].count(ended.last_case[0]) >= CRASHES_PER_TARGET:
                self.abandoned.append(ended.last_case[0])
            call = quarantine.call_text(ended.last_case)
            self.drop(call, "the process %s" % ended.why)
            if ended.why == "hangs":
                self.on_event({"event": "hang", "case": ended.last_case})
        self.drop(self.name, "%d calls ended the process" % RESTARTS)
        return None

    def _find_fixtures(self):
        """Finds the fixtures of the project, with their values in another process."""
        paths = fixtures.conftests(self.request["root"], self.request.get("run_folder"))
        files, known = fixtures.read(paths)
        if not files:
            return
        self.conftest_paths = paths
        ended = child_process.run(
            self.child_request(mode="fixtures", seconds=10.0, shift_clock=True, conftests=paths), lambda event: None,
            4242, stability.ZONES[1])
        done = ended.last_event("done")
        if done is None or done["failure"]:
            if not ended.last_event("dropped"):
                why = done["failure"] if done else "the process %s" % (ended.why or "fails")
                why = with_help(why, self.name, self.request["root"])
                self.drop("fixtures of %s" % paths[-1], "cannot be used by the search: %s" % why)
            return
        self.conftests, self.fixtures, self.autouse = paths, done["fixtures"], done["autouse"]
        self.unusable_fixtures = done["unusable_fixtures"]
        self.parametrised = {
            name: [(one, done["params"][one]) for one in fixtures.with_dependencies([name], known) if one in done["params"]]
            for name in self.fixtures}
        for name, why in sorted(done["problems"].items()):
            self.drop(
                "fixture %s" % name, "applies to every test, but %s: tests that fail with it are dropped" % why)

    def on_event(self, event):
        if event["event"] == "found":
            self.corpus.append(event["case"])
        elif event["event"] == "hang":
            if event["case"][0] not in [data[0] for data in self.hangs]:
                self.hangs.append(event["case"])
        elif event["event"] == "refused":
            self.refused.setdefault(event["target"], {})[event["why"]] = True
        elif event["event"] == "phase":
            self.report_progress("%s: %d calls" % (event["name"], event["calls"]))

    # -- check and write ---------------------------------------------------------------------------------------------

    def _write(self, entries, result):
        self.outcome["lines"] = result["lines"]
        self.outcome["mutants"] = {"killed": result["mutants"][0], "survived": result["mutants"][1]}
        self.outcome["survivors"] = result["survivors"][:40]
        self.outcome["unreached"] = result["unreached"][:200]
        self.outcome["calls"] = result["calls"]
        for target, whys in result["refused"].items():
            self.refused.setdefault(target, {}).update(dict.fromkeys(whys))
        for target, whys in self.refused.items():
            for why in whys:
                self.drop(target, why)
        for name, why in sorted(result["wanted_fixtures"].items()):
            self.drop("fixture %s" % name, why)
        for call, what in result["notes"]:
            self.drop(call, what)
        self._report_defects(result)
        entries = defects.assertable(entries)
        if not entries:
            self.drop(
                self.name, "nothing new was found for the open lines" if self._has_open_lines()
                else "no call had a result that a test can assert")
            return
        note = self._file_docstring()
        files = TestFiles(self.out, self.name, self.request["root"])
        style = style_of(self.request["root"], files.of_project + [self.path])
        writer = Writer(self.name, result["targets"], result["origin"], note, self.parametrised, style.width)
        entries, text = self._passing(files, writer, style, self._new_entries(files, writer, entries))
        if not entries:
            return
        path = publish(self.out, files.name, text)
        self.outcome["tests"] = len(entries)
        self.outcome["written"].append({
            "path": path, "tests": [entry.test for entry in entries],
            "covers": list(dict.fromkeys(entry.case.target for entry in entries))})

    def _has_open_lines(self):
        """Whether the previous round left lines or mutants of this module open."""
        feedback = self.request.get("feedback") or {}
        return bool(feedback.get("uncovered") or feedback.get("survivors"))

    def _new_entries(self, files, writer, entries):
        """The entries that assert something, without those of earlier rounds, whose outcome would be the same again."""
        entries = writer.asserting(entries)
        feedback = self.request.get("feedback")
        if not feedback:
            return entries
        writer.text(entries)  # names each test
        for names, why in (
                (feedback.get("failing"), "failed in an earlier round"),
                (feedback.get("refused"), "were refused in an earlier round"),
                (() if self._has_open_lines() else files.known_tests(), "exist already")):
            kept = [entry for entry in entries if not is_named(entry.test, set(names or ()))]
            if len(kept) < len(entries):
                self.drop(self.name, "%d tests %s" % (len(entries) - len(kept), why))
            entries = kept
        return entries

    def _report_defects(self, result):
        """Reports suspected defects, with a test for each in a separate file."""
        found = list(result["defects"])
        for data in self.hangs[:MAX_HANGS]:
            if not self.must_run_tests() and self._hangs_again(data) and not self._time_grows_with_numbers(data):
                what = "no result within %g s of processor time" % CONFIRM_SECONDS
                found.append({"kind": quarantine.ENDLESS, "case": data, "what": what, "line": result["begins"].get(data[0], 0)})
            else:
                self.drop(quarantine.call_text(data), "takes too long")
        found = [] if self.must_run_tests() else self._confirmed(self._not_yet_reported(found), result)
        if not found:
            return
        text, _ = self._quarantine(found, result)
        path = publish(self.out, lambda number: quarantine.file_name(self.name, number), format_file(text))
        for defect in found:
            self.outcome["defects"].append({
                "kind": defect["kind"], "call": defect.get("call") or quarantine.call_text(defect["case"], self.fixtures),
                "what": defect["what"], "line": defect["line"], "quarantine": path})

    def _not_yet_reported(self, found):
        """The defects without those of earlier rounds, which the files of these rounds name."""
        texts, text = [], ""
        while text is not None:
            text = read(os.path.join(self.out, quarantine.file_name(self.name, len(texts) + 1)))
            texts.append(text or "")
        return [defect for defect in found if not any(quarantine.is_reported(defect, text) for text in texts)]

    def _quarantine(self, found, result):
        note = "Suspected defects in %s. The generator does not know the intended behaviour: review each one.\n" % self.name
        return quarantine.render(found, result["origin"], note, self.fixtures)

    def _confirmed(self, found, result):
        """The defects that also show in a new process. Endless calls were confirmed in one already."""
        quick = [defect for defect in found if defect["kind"] != quarantine.ENDLESS]
        if not quick:
            return found
        text, names = self._quarantine(quick, result)
        failing = self._failing_tests(text, "test_%s" % quarantine.file_name(self.name))
        if not isinstance(failing, set):
            return []
        calm = [defect for defect, name in zip(quick, names) if name not in failing]
        return [defect for defect in found if defect not in calm]

    def _hangs_again(self, data):
        """Whether a plausible call does not end with much more time either."""
        ended = child_process.run(
            self.child_request(mode="check", cases=[[0, data]], seconds=20.0, call_seconds=CONFIRM_SECONDS), lambda event: None)
        seen, tried = ended.last_event("outcome"), ended.last_event("tries")
        if tried is None or not tried["plausible"]:
            return False
        return ended.why == "hangs" or seen is not None and seen["outcome"][0] == "hangs"

    def _time_grows_with_numbers(self, data):
        """Whether a call takes long because its numbers are large: with smaller ones it ends after some time."""
        cases = [[number, case] for number, case in enumerate(expected_errors.with_smaller_numbers(data))]
        if not cases:
            return False
        ended = child_process.run(
            self.child_request(mode="check", cases=cases, seconds=20.0, call_seconds=0.3), lambda event: None)
        return any(event["outcome"][0] != "hangs" and event["seconds"] > SHORT_CALL for event in ended.events_named("outcome"))

    def _file_docstring(self):
        commit = self.request.get("commit")
        when = " as of commit %s" % commit if commit else ""
        first = ABOUT % self.name + when + "."
        return first + "\n\nA failure means that behaviour changed, not that the change is wrong.\n"

    def _failing_tests(self, text, name):
        seconds = min(pytest_run.PYTEST_SECONDS, self.seconds_left())
        sys_path = self.request.get("sys_path", []) + [self.import_root]
        return pytest_run.failing_tests(text, name, sys_path, self.conftest_paths, seconds)

    def _passing(self, files, writer, style, entries):
        """The entries whose tests pass, and the text of their file."""
        name = files.name()
        for _ in range(4):
            if not entries:
                break
            text = format_file(writer.text(entries), style)
            failing = self._failing_tests(text, name)
            if not failing:
                return entries, text
            if failing is pytest_run.TOO_LATE:
                self.drop(self.name, "%d tests were found, but not run before the time limit" % len(entries))
                break
            if failing is True:
                self.drop(self.name, "pytest cannot run a file that imports it")
                break
            self.drop(self.name, "%d generated tests failed" % len(failing))
            entries = [entry for entry in entries if not pytest_run.is_one_of(entry.test, failing)]
        return [], None  # no test remains, or some keep failing


def main(request_path):
    # Still kill the children when this process is terminated.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with open(request_path, encoding="utf-8") as file:
        request = json.load(file)
    if request.get("mode") in ("diff", "suite"):
        from . import diff_driver

        diff = diff_driver.Diff(request)
        signal.signal(signal.SIGINT, diff.stop)
        outcome = diff.run() if request["mode"] == "diff" else diff.run_suite()
    else:
        outcome = Module(request).run()
    print(json.dumps({"outcome": outcome}), flush=True)
