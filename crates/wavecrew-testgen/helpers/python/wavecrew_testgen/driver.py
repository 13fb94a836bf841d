"""Writes the tests of one module: search in a child, check in fresh ones, write, run with pytest, tell."""
import ast
import json
import keyword
import os
import signal
import sys
import time

from . import child_process, defects, expected_errors, fixtures, pytest_run, quarantine, stability
from .import_paths import places
from .render import Writer
from .formatting import tidy

RESTARTS = 8
DEATHS_PER_TARGET = 2
# Budgets are processor time; on a busy machine they may take this much of the clock.
BUSY_FACTOR = 15
BUSY_SECONDS = 60
MOST_HANGS = 3  # that are looked at again
GROWING = 0.003  # seconds after which a call with smaller numbers has shown that it ends in its time
PATIENCE = 3.0  # seconds that a call may take before it counts as one that does not end
ELSEWHERE = ("node_modules", "site-packages", "venv", "build", "dist", "__pycache__")
MISSING = "import fails: ModuleNotFoundError"


class Module:
    """The work on one module; `outcome` is what comes of it."""

    def __init__(self, request):
        self.request = request
        self.path = os.path.abspath(request["file"])
        self.places = places(self.path, request["root"], request.get("sys_path", []))
        self.name, self.import_root = self.places.pop(0)
        self.started = time.monotonic()
        self.outcome = {
            "file": request["file"], "module": self.name, "written": [], "defects": [], "left_out": [],
            "lines": None, "mutants": None, "tests": 0, "seed": request["seed"],
        }
        self.hashes = True  # what it does may depend on the order of sets
        self.excluded = []
        self.corpus = []
        self.hangs = []
        self.refused = {}  # by target: why calls of it are left out, of all processes
        self.given_up = []
        self.beside = []  # files with fixtures that hold for the tests
        self.conftests = []  # the same, where the child can load them
        self.fixtures = {}
        self.automatic = []
        self.passed_over = {}
        self.several = {}  # by fixture: those behind it that have several values, with the one to take

    def tell(self, what):
        print(json.dumps({"progress": what, "module": self.name}), flush=True)

    def leave_out(self, what, why):
        self.outcome["left_out"].append({"what": what, "why": why})

    def run(self):
        result = self._search()
        if result is not None:
            self._write(stability.entries(self, result), result)
        self.outcome["seconds"] = round(time.monotonic() - self.started, 2)
        return self.outcome

    # -- search ------------------------------------------------------------------------------------------------------

    def child_request(self, **more):
        request = {
            "path": self.path, "module": self.name, "packages": [self.name.split(".")[0]],
            "sys_path": self.request.get("sys_path", []) + [self.import_root], "seed": self.request["seed"],
            "harvest_root": self._harvest_root(), "corpus": [], "excluded": [], "given_up": [], "mode": "search",
            "feedback": self.request.get("feedback"), "conftests": self.conftests, "fixtures": self.fixtures,
            "automatic": self.automatic, "passed_over": self.passed_over,
        }
        request.update(more)
        request["wall_seconds"] = request["seconds"] * BUSY_FACTOR + BUSY_SECONDS
        return request

    def _harvest_root(self):
        """The project, or the package alone where the project is a folder of installed packages."""
        root = os.path.abspath(self.request["root"])
        if os.path.basename(root) in ("site-packages", "dist-packages"):
            return os.path.join(root, self.name.split(".")[0])
        return root

    def _search(self):
        if not self.path.endswith(".py"):
            self.leave_out(self.name, "is no Python source: compiled modules are tested through those that use them")
            return None
        odd = [part for part in self.name.split(".") if not part.isidentifier() or keyword.iskeyword(part)]
        if odd or "." in os.path.basename(self.path)[:-3]:
            self.leave_out(self.name, "has a name that no test can import")
            return None
        try:
            with open(self.path, "rb") as file:
                source = file.read()
            self.hashes = stability.hashes(ast.parse(source))
        except (SyntaxError, ValueError) as error:
            self.leave_out(self.name, "does not parse: %s" % error)
            return None
        except OSError as error:
            self.leave_out(self.name, "cannot be read: %s" % error)
            return None
        if self.name.split(".")[-1] == "__main__" and b"__name__" not in source:
            self.leave_out(self.name, "is a program: to import it is to run it")
            return None
        self._find_fixtures()
        left = self.request["budget"]
        for attempt in range(RESTARTS):
            began = time.monotonic()
            ended = child_process.run(
                self.child_request(
                    seconds=max(left, 1.0), seed=self.request["seed"] + attempt, corpus=self.corpus[-stability.MOST_CORPUS:],
                    excluded=self.excluded, given_up=self.given_up),
                self.heard)
            left -= time.monotonic() - began
            for why in [event["why"] for event in ended.all("note")] if attempt == 0 else ():
                self.leave_out(self.name, why)
            refused = ended.last("left_out")
            if refused and self.places and refused["why"].startswith(MISSING):
                self.name, self.import_root = self.places.pop(0)
                self.outcome["module"] = self.name
                continue
            if refused:
                self.leave_out(self.name, refused["why"])
                return None
            if ended.last("result"):
                return ended.last("result")
            trouble = ended.last("failed")
            if ended.victim is None or trouble:
                step = "search" if ended.last("found") else "import"
                self.leave_out(self.name, trouble["why"] if trouble else "the %s %s" % (step, ended.why))
                return None
            self.excluded.append(ended.victim)
            if [data[0] for data in self.excluded].count(ended.victim[0]) >= DEATHS_PER_TARGET:
                self.given_up.append(ended.victim[0])
            call = quarantine.shown(ended.victim)
            self.leave_out(call, "the process %s" % ended.why)
            if ended.why == "hangs":
                self.heard({"event": "hang", "case": ended.victim})
        self.leave_out(self.name, "%d calls ended the process" % RESTARTS)
        return None

    def _find_fixtures(self):
        """Fixtures that tests of this project are given, with what they give in a process of another kind."""
        paths = fixtures.conftests(self.request["root"], self.request.get("laid_in"))
        files, known = fixtures.read(paths)
        if not files:
            return
        self.beside = paths
        ended = child_process.run(
            self.child_request(mode="fixtures", seconds=10.0, shift_clock=True, conftests=paths), lambda event: None,
            4242, stability.ZONES[1])
        told = ended.last("done")
        if told is None or told["failure"]:
            if not ended.last("left_out"):
                why = told["failure"] if told else "the process %s" % (ended.why or "fails")
                self.leave_out("fixtures of %s" % paths[-1], "cannot be used by the search: %s" % why)
            return
        self.conftests, self.fixtures, self.automatic = paths, told["fixtures"], told["automatic"]
        self.passed_over = told["passed_over"]
        self.several = {
            name: [(one, told["params"][one]) for one in fixtures.behind([name], known) if one in told["params"]]
            for name in self.fixtures}
        for name, why in sorted(told["troubles"].items()):
            self.leave_out(
                "fixture %s" % name, "holds for every test but %s: tests that fail with it are dropped" % why)

    def heard(self, event):
        if event["event"] == "found":
            self.corpus.append(event["case"])
        elif event["event"] == "hang":
            if event["case"][0] not in [data[0] for data in self.hangs]:
                self.hangs.append(event["case"])
        elif event["event"] == "refused":
            self.refused.setdefault(event["target"], {})[event["why"]] = True
        elif event["event"] == "phase":
            self.tell("%s: %d calls" % (event["name"], event["calls"]))

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
                self.leave_out(target, why)
        for name, why in sorted(result["missed"].items()):
            self.leave_out("fixture %s" % name, why)
        self._report_defects(result)
        entries = defects.plain_enough(entries)
        if not entries:
            feedback = self.request.get("feedback") or {}
            asked = feedback.get("uncovered") or feedback.get("survivors")
            self.leave_out(
                self.name, "nothing more was found for what is open" if asked
                else "no call had a result that could be asserted")
            return
        note = self._note()
        writer = Writer(self.name, result["targets"], result["origin"], note, result["seeded"], self.several)
        path = self._free_path()
        entries = self._passing(path, writer, self._not_failed_before(writer, entries))
        if not entries:
            return
        self.outcome["tests"] = len(entries)
        self.outcome["written"].append({
            "path": path, "tests": [entry.test for entry in entries],
            "covers": list(dict.fromkeys(entry.case.target for entry in entries))})

    def _not_failed_before(self, writer, entries):
        """Without those whose tests an earlier round wrote and saw fail: they would fail again."""
        failing = set((self.request.get("feedback") or {}).get("failing") or ())
        if not failing:
            return entries
        writer.text(entries)  # gives each its name
        kept = [entry for entry in entries if entry.test not in failing]
        if len(kept) < len(entries):
            self.leave_out(self.name, "%d tests failed in an earlier round" % (len(entries) - len(kept)))
        return kept

    def _report_defects(self, result):
        """Suspected defects, with a test for each in a file of its own."""
        found = list(result["defects"])
        for data in self.hangs[:MOST_HANGS]:
            if self._hangs(data) and not self._grows(data):
                what = "no end within %g s of processor time" % PATIENCE
                found.append({"kind": quarantine.ENDLESS, "case": data, "what": what, "line": result["begins"].get(data[0], 0)})
            else:
                self.leave_out(quarantine.shown(data), "takes too long")
        found = self._confirmed(found, result)
        if not found:
            return
        path, _ = self._quarantine(found, result)
        for defect in found:
            self.outcome["defects"].append({
                "kind": defect["kind"], "call": defect.get("call") or quarantine.shown(defect["case"], self.fixtures),
                "what": defect["what"], "line": defect["line"], "quarantine": path})

    def _quarantine(self, found, result):
        note = "Suspected defects of %s, found without knowing what was meant: to be judged by a person.\n" % self.name
        os.makedirs(self.request["out"], exist_ok=True)
        return quarantine.write(self.request["out"], self.name, found, result["origin"], note, self.fixtures)

    def _confirmed(self, found, result):
        """Those that show in a process where nothing else was called before. What does not end was seen in one already."""
        quick = [defect for defect in found if defect["kind"] != quarantine.ENDLESS]
        if not quick:
            return found
        path, names = self._quarantine(quick, result)
        failing = self._trial(path)
        os.remove(path)
        if not isinstance(failing, set):
            return found
        calm = [defect for defect, name in zip(quick, names) if name not in failing]
        return [defect for defect in found if defect not in calm]

    def _hangs(self, data):
        """Whether a call of the kind that people make does not end with much more time than the search gave it, either."""
        ended = child_process.run(
            self.child_request(mode="check", cases=[[0, data]], seconds=20.0, call_seconds=PATIENCE), lambda event: None)
        seen, tried = ended.last("outcome"), ended.last("tries")
        if tried is None or not tried["plausible"]:
            return False
        return ended.why == "hangs" or seen is not None and seen["outcome"][0] == "hangs"

    def _grows(self, data):
        """Whether a call takes long because its numbers are large: with smaller ones it ends, and has something to do."""
        cases = [[number, case] for number, case in enumerate(expected_errors.smaller(data))]
        if not cases:
            return False
        ended = child_process.run(
            self.child_request(mode="check", cases=cases, seconds=20.0, call_seconds=0.3), lambda event: None)
        return any(event["outcome"][0] != "hangs" and event["seconds"] > GROWING for event in ended.all("outcome"))

    def _note(self):
        commit = self.request.get("commit")
        when = " as of commit %s" % commit if commit else ""
        return ("Records how %s behaves%s (wavecrew offline, seed %d).\n\n"
                "A failure here says that behaviour changed, not that the change is wrong.\n" % (
                    self.name, when, self.request["seed"]))

    def _free_path(self):
        short = self.name.split(".")[-1]
        shape = "%s_behaviour%s_test.py" if self._tests_end_so() else "test_%s_behaviour%s.py"
        number = 1
        while True:
            path = os.path.join(self.request["out"], shape % (short, "_%d" % number if number > 1 else ""))
            if not os.path.exists(path):
                break
            number += 1
        os.makedirs(self.request["out"], exist_ok=True)
        return path

    def _tests_end_so(self):
        """Whether the project calls most of its tests `x_test.py`."""
        front = back = 0
        for folder, folders, files in os.walk(os.path.abspath(self.request["root"])):
            folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in ELSEWHERE)[:200]
            front += sum(1 for name in files if name.startswith("test_") and name.endswith(".py"))
            back += sum(1 for name in files if name.endswith("_test.py"))
            if front + back > 500:
                break
        return back > front

    def _trial(self, path):
        return pytest_run.failing(path, self.request.get("sys_path", []) + [self.import_root], self.beside)

    def _passing(self, path, writer, entries):
        """Writes the file; runs it, and writes it again without what fails."""
        for _ in range(4):
            if not entries:
                break
            with open(path, "w", encoding="utf-8") as file:
                file.write(tidy(writer.text(entries)))
            failing = self._trial(path)
            if not failing:
                return entries
            if failing is True:
                self.leave_out(self.name, "pytest cannot run a file that imports it")
                os.remove(path)
                return []
            self.leave_out(self.name, "%d tests failed when they were run" % len(failing))
            entries = [entry for entry in entries if not pytest_run.is_among(entry.test, failing)]
        os.remove(path)  # none is left, or they go on failing
        return []


def main(request_path):
    # Ended from outside, this still ends its children.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with open(request_path, encoding="utf-8") as file:
        request = json.load(file)
    outcome = Module(request).run()
    print(json.dumps({"outcome": outcome}), flush=True)
