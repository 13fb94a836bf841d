"""Compares two versions of a module: searches in two children, confirms in new ones, and reports.

The request names both roots, the module to enter, and the changed lines of all changed files. See `src/diff/mod.rs`.
"""
import ast
import json
import os
import random
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from . import child_process, diff_compare, diff_suite, diff_tests, tracing
from .cases import Case, arguments, method_statement, subject_name
from .import_help import with_help
from .import_paths import import_candidates
from .peer import Lines
from .snippets import changed_names
from .stability import HASH_SEEDS, ZONES, uses_hashing

RESTARTS = 6
PEER_RESTARTS = 8
MAX_CONFIRMED = 120  # candidates
MAX_ENDLESS = 3  # candidates that hang or crash
ENDED = ("hang", "crash")
CALL_SECONDS = 2.0
SHORT = 20  # a call that ends in one version takes at most this part of the time limit
MAX_TEST_FILES = 25
MAX_READERS = 6  # test files that may read changed data
MAX_IMPORTERS = 4
LEAST_SECONDS = 2.0
MAX_SNIPPET_SECONDS, SNIPPET_SHARE = 4.0, 0.15  # of processor time, for loading snippets
STOP_SECONDS = 8.0  # for confirming what was found, when somebody stops the search
CHECK_SHARE = {False: 0.3, True: 0.45}  # of the wall time, kept for new processes, and with tests also for running them
MISSING = "the import fails: ModuleNotFoundError"
SKIPPED = {"node_modules", "venv", ".venv", "site-packages", "__pycache__", "build", "dist", ".git", ".tox", ".nox"}


class Diff:
    """The comparison of one module, which may be entered through others."""

    def __init__(self, request):
        self.request = request
        self.old_root, self.new_root = (os.path.realpath(request[name]) for name in ("old_root", "new_root"))
        self.file = request["file"]
        self.started = time.monotonic()
        self.seconds = request["seconds_left"]
        self.excluded, self.corpus, self.abandoned = [], [], []
        self.at_import = {"old": {}, "new": {}}  # changed lines that run at import, by version and file
        self.in_functions = {}  # changed lines of the new version that only calls reach, by file
        self.outcome = {
            "file": self.file, "differences": [], "calls": 0, "reached": {"old": {}, "new": {}}, "same": 0, "tests": [],
            "left_out": [], "seconds": 0.0, "unconfirmed": 0, "executable": self._executable_lines()}

    def seconds_left(self):
        return self.started + self.seconds - time.monotonic()

    def stop(self, *_):
        """Ends the search. What it found is confirmed in a few seconds."""
        child_process.stopping.set()
        self.seconds = min(self.seconds, time.monotonic() - self.started + STOP_SECONDS)

    def progress(self, what):
        print(json.dumps({"progress": what}), flush=True)

    def drop(self, what, why):
        entry = {"what": what, "why": why}
        if entry not in self.outcome["left_out"]:
            self.outcome["left_out"].append(entry)

    def run(self):
        files = self._snippet_files()
        entries = [self.file]
        budget = self.request["budget"]
        for number, file in enumerate(entries):
            if child_process.stopping.is_set() and number > 0:
                break
            if self.seconds_left() < LEAST_SECONDS:
                self.drop(self.file, "the time limit came before its search ended")
                break
            entry = Entry(self, file, files if number == 0 else [])
            entry.search(budget if number == 0 else budget / 2)
            if number == 0 and not self.outcome["differences"]:
                entries += self._importers()
        if not self.outcome["calls"] and not self.outcome["left_out"] and not self.outcome["differences"]:
            self.drop(self.file, "no input reaches its changed code")
        self.outcome["differences"] = grouped(self.outcome["differences"])
        self.outcome["seconds"] = round(time.monotonic() - self.started, 2)
        return self.outcome

    def run_suite(self):
        """Runs the tests that the change touches on both versions."""
        changed = [file for file in self.request.get("changed_tests", ()) if file.endswith(".py")]
        diff_suite.Suite(self, changed, self._readers_of_data()).run()
        self.outcome["seconds"] = round(time.monotonic() - self.started, 2)
        return self.outcome

    def _readers_of_data(self):
        """Test files beside or above changed data of tests, which they may read."""
        folders = {os.path.dirname(file) for file in self.request.get("test_data", ())}
        found = []
        for path in self._python_files():
            inner = os.path.relpath(path, self.new_root)
            home = os.path.dirname(inner)
            if is_test_file(inner) and not inner.endswith("conftest.py") and any(folder == home or folder.startswith(home + os.sep) for folder in folders):
                found.append(inner)
        return found[:MAX_READERS]

    def _executable_lines(self):
        """The changed lines of the new version that can run, by file. Those outside of functions run at import."""
        found = {}
        for one in self.request["changed"]:
            for version, root in (("old", self.old_root), ("new", self.new_root)):
                try:
                    with open(os.path.join(root, one["file"]), "rb") as file:
                        tree = ast.parse(file.read())
                except (OSError, SyntaxError, ValueError):
                    continue
                changed = {line for first, last in one[version + "_lines"] for line in range(first, last + 1)}
                in_functions = tracing.function_lines(tree)
                self.at_import[version][one["file"]] = sorted(changed - in_functions)
                if version == "new":
                    code = compile(tree, one["file"], "exec", dont_inherit=True)
                    found[one["file"]] = sorted(tracing.executable_lines(code) & changed)
                    self.in_functions[one["file"]] = [line for line in found[one["file"]] if line in in_functions]
        return found

    # -- files of the project ----------------------------------------------------------------------------------------

    def _python_files(self):
        for folder, folders, files in os.walk(self.new_root):
            folders[:] = sorted(each for each in folders if each not in SKIPPED and not each.startswith("."))
            for name in sorted(files):
                if name.endswith(".py"):
                    yield os.path.join(folder, name)

    def _snippet_files(self):
        """The module's own examples, and test files that may use it, those with changed tests that reach it first."""
        own = [os.path.join(root, self.file) for root in (self.new_root, self.old_root)]
        first = [os.path.join(self.new_root, file) for file in self.first_tests()]
        return own + first + [path for path in self._test_files() if path not in first][:MAX_TEST_FILES]

    def first_tests(self):
        """For each test file the changed tests that reach the module, those that tell the versions apart first."""
        found = {}
        for test in sorted(self.request.get("suite") or (), key=lambda test: not test["telling"]):
            if self.file in test["files"] or test["telling"]:
                names = found.setdefault(test["file"], [])
                name = test["function"] if test["owner"] is None else "%s.%s" % (test["owner"], test["function"])
                if name not in names:
                    names.append(name)
        return found

    def _test_files(self):
        changed = {os.path.join(self.new_root, file) for file in self.request.get("changed_tests", ())}
        word = os.path.basename(self.file)[:-3].strip("_")
        if word in ("init", "main", "core", "base", "utils", "api"):
            word = os.path.basename(os.path.dirname(self.file)) or word
        package = self._package()
        found = []
        for path in self._python_files():
            relative = os.path.relpath(path, self.new_root)
            if not is_test_file(relative):
                continue
            try:
                with open(path, encoding="utf-8") as file:
                    text = file.read()
            except (OSError, ValueError):
                continue
            named = len(re.findall(r"\b%s\b" % re.escape(word), text))
            if named or path in changed or re.search(r"\b%s\b" % re.escape(package), text):
                found.append((path not in changed, word not in os.path.basename(path), -min(named, 20), path))
        found.sort()
        # Files that do not name the module matter only where none does.
        naming = [entry for entry in found if not entry[0] or entry[2]]
        return [entry[-1] for entry in naming or found]

    def _package(self):
        parts = [part for part in self.file.split(os.sep) if part not in ("src", "lib")]
        return parts[0][:-3] if len(parts) == 1 else parts[0]

    def _importers(self):
        """Other modules of the project that import this one."""
        name = import_candidates(os.path.join(self.new_root, self.file), self.new_root, self._sys_path(self.new_root))[0][0]
        last = name.rpartition(".")[2]
        pattern = re.compile(r"^\s*(from|import)\b.*\b%s\b" % re.escape(last), re.MULTILINE)
        found = []
        for path in self._python_files():
            relative = os.path.relpath(path, self.new_root)
            if relative == self.file or is_test_file(relative) or not os.path.exists(os.path.join(self.old_root, relative)):
                continue
            try:
                with open(path, encoding="utf-8") as file:
                    text = file.read()
            except (OSError, ValueError):
                continue
            if pattern.search(text):
                found.append((os.path.basename(relative).startswith("_"), relative.count(os.sep), relative))
        return [relative for _, _, relative in sorted(found)[:MAX_IMPORTERS]]

    def _sys_path(self, root):
        return [os.path.join(root, folder) for folder in self.request.get("search_path", ())]


def is_test_file(path):
    name = os.path.basename(path)
    folders = path.split(os.sep)[:-1]
    return name.startswith("test_") or name.endswith(("_test.py", "_tests.py")) or name in ("conftest.py", "test.py", "tests.py") or any(
        folder in ("test", "tests", "testing") for folder in folders)


class Entry:
    """One module through which the changed code is entered."""

    def __init__(self, diff, file, snippet_files):
        self.diff = diff
        self.file = file
        self.snippet_files = snippet_files
        self.result = None
        roots = {"new": diff.new_root, "old": diff.old_root}
        self.candidates = {
            version: import_candidates(os.path.join(root, file), root, diff._sys_path(root)) for version, root in roots.items()}

    def root(self, version):
        return self.diff.new_root if version == "new" else self.diff.old_root

    def child_request(self, version, mode, seconds, **more):
        diff = self.diff
        root = self.root(version)
        name, folder = self.candidates[version][0]
        snippet_seconds = min(MAX_SNIPPET_SECONDS, max(1.0, SNIPPET_SHARE * diff.request["budget"]))
        changed = []
        for one in diff.request["changed"]:
            changed.append({
                "file": one["file"], "path": os.path.join(root, one["file"]), "old_path": os.path.join(diff.old_root, one["file"]),
                "old_lines": one["old_lines"], "new_lines": one["new_lines"],
                "spans": one.get("spans", one["new_lines"]), "at_import": bool(one.get("at_import")),
                "in_functions": diff.in_functions.get(one["file"], [])})
        request = {
            "path": os.path.join(root, self.file), "module": name, "packages": [name.split(".")[0]], "root": root,
            "sys_path": diff._sys_path(root) + [folder], "seed": diff.request["seed"], "example_root": diff.new_root,
            "corpus": [], "excluded": diff.excluded, "abandoned": diff.abandoned, "mode": mode, "feedback": None,
            "conftests": [], "fixtures": {}, "autouse": [], "unusable_fixtures": {}, "seconds": seconds,
            "trace": [one["path"] for one in changed], "call_seconds": CALL_SECONDS,
            "diff": {"changed": changed, "snippets": self.snippet_files, "first_tests": diff.first_tests(), "new_root": diff.new_root, "peer": None,
                     "constants": self._constants(), "quick": bool(diff.request.get("quick")),
                     # The new version only makes inputs that the old one knows, too.
                     "snippet_seconds": snippet_seconds * (1 if version == "new" and mode == "search" else 2)},
        }
        request.update(more)
        left = max(LEAST_SECONDS, diff.seconds_left())
        tested = any((diff.request.get("tests") or {}).values())
        request["wall_seconds"] = left if mode == "check" else left * (1 - CHECK_SHARE[tested])
        request["longest"] = left
        return request

    def _constants(self):
        """Names of the module's constants on changed lines of either version."""
        names = set()
        for one in self.diff.request["changed"]:
            for root, ranges in ((self.diff.old_root, one["old_lines"]), (self.diff.new_root, one["new_lines"])):
                try:
                    with open(os.path.join(root, one["file"]), "rb") as file:
                        tree = ast.parse(file.read())
                except (OSError, SyntaxError, ValueError):
                    continue
                lines = {line for first, last in ranges for line in range(first, last + 1)}
                if one["file"] == self.file:
                    names.update(changed_names(tree, lines))
        return sorted(names)

    def search(self, budget):
        for attempt in range(RESTARTS):
            if self.diff.seconds_left() < LEAST_SECONDS:
                self.diff.drop(self.file, "the time limit came before its search ended")
                return
            ended, gone = self._search_once(budget, attempt)
            for event in ended.events_named("note"):
                self.diff.drop(self.file, event["why"])
            refused = ended.last_event("dropped")
            if refused is not None or gone is not None:
                why = gone or "new version: " + refused["why"]
                if refused is not None and refused["why"].startswith("old version:"):
                    why = gone or refused["why"]
                if MISSING in why and all(len(each) > 1 for each in self.candidates.values()):
                    for each in self.candidates.values():
                        each.pop(0)
                    continue
                self.diff.drop(self.file, with_help(why, self.candidates["new"][0][0], self.diff.new_root))
                return
            result = ended.last_event("result")
            if result is not None:
                self._take(result)
                return
            failure = ended.last_event("failed")
            if ended.last_case is None or failure:
                why = "the search %s" % ended.why if ended.last_event("loaded") else _import_ended(ended.why)
                self.diff.drop(self.file, failure["why"] if failure else "new version: " + why)
                return
            self.diff.excluded.append(ended.last_case)
            self._confirm_ended(ended.last_case)
            if [data[0] for data in self.diff.excluded].count(ended.last_case[0]) >= 2:
                self.diff.abandoned.append(ended.last_case[0])

    def _search_once(self, budget, attempt):
        """Runs a pair of children. Returns the end of the new version's, and why the old version cannot answer, or None."""
        ours, theirs = socket.socketpair()
        gone = []
        done = threading.Event()

        def keep_old():
            lines = Lines(theirs.fileno())
            for _ in range(PEER_RESTARTS):
                ended = child_process.run(
                    self.child_request("old", "peer", budget * 3, diff=self._diff_part("old", theirs.fileno())),
                    lambda event: None, descriptors=(theirs.fileno(),))
                if done.is_set():
                    return
                dropped = ended.last_event("dropped")
                if dropped or not ended.last_event("loaded"):
                    why = dropped["why"] if dropped else _import_ended(ended.why)
                    gone.append("old version: " + why)
                    lines.write({"gone": why})
                    return
                failed = ended.last_event("failed")
                if failed:
                    gone.append("old version: " + failed["why"])
                    lines.write({"gone": failed["why"]})
                    return
                lines.write({"crash": ended.why or "dies"})
                lines = _after_restart(lines)

        def on_event(event):
            if event["event"] == "found":
                self.diff.corpus.append(event["case"])

        thread = threading.Thread(target=keep_old, daemon=True)
        thread.start()
        try:
            ended = child_process.run(
                self.child_request(
                    "new", "search", budget, seed=self.diff.request["seed"] + attempt, corpus=self.diff.corpus[-200:],
                    diff=self._diff_part("new", ours.fileno())),
                on_event, descriptors=(ours.fileno(),))
        finally:
            done.set()
            ours.close()
            theirs.shutdown(socket.SHUT_RDWR)
            thread.join(30)
            theirs.close()
        return ended, gone[0] if gone else None

    def _diff_part(self, version, descriptor):
        return dict(self.child_request(version, "search", 1.0)["diff"], peer=descriptor)

    # -- confirming --------------------------------------------------------------------------------------------------

    def _take(self, result):
        diff = self.diff
        self.result = result
        diff.outcome["calls"] += result["calls"]
        for version, reached in result["reached"].items():
            for file, line in reached:
                lines = diff.outcome["reached"][version].setdefault(file, [])
                if line not in lines:
                    lines.append(line)
        for file, lines in diff.at_import["new"].items():
            known = diff.outcome["reached"]["new"].setdefault(file, [])
            known += [line for line in lines if line not in known]
        for target, whys in sorted(result["refused"].items()):
            for why in whys:
                diff.drop(result["targets"][target]["qualified_name"], why)
        groups = sorted(result["differences"], key=lambda group: len(json.dumps(group[0]["case"])))
        candidates = [found for rank in range(8) for group in groups for found in group[rank:rank + 1]][:MAX_CONFIRMED]
        print(json.dumps({"searched": {"calls": result["calls"], "differ": len(candidates)}}), flush=True)
        differ = "%d differ: confirming in new processes" % len(candidates) if candidates else "none differs"
        diff.progress("%d inputs compared, %s" % (result["calls"], differ))
        # Calls that do not end take long to confirm: they must not cost the others their time.
        ending = [found for found in candidates if found["kind"] not in ENDED]
        endless = [found for found in candidates if found["kind"] in ENDED]
        confirmed = self._confirmed(ending) + self._confirmed(endless[:MAX_ENDLESS])
        best = self._one_per_cause(confirmed)
        diff_tests.Tests(self).add(best)
        for found in best:
            difference = self._difference(found)
            diff.outcome["differences"].append(difference)
            print(json.dumps({"difference": difference}), flush=True)
        diff.outcome["same"] += len(result["same"])

    def _one_per_cause(self, confirmed):
        """The differences that show a changed place, or a kind of difference there, that no simpler one shows."""
        counts = {}
        for found in confirmed:
            key = (frozenset(self._places(found["lines"])), found["kind"])
            counts.setdefault(key, []).append(found)
        best, seen = [], set()
        ordered = sorted(counts.items(), key=lambda item: (len(item[0][0]), len(json.dumps(item[1][0]["case"]))))
        for (places, kind), group in ordered:
            shows = {(place, kind) for place in places} or {(None, kind)}
            if shows - seen:
                seen |= shows
                best.append(dict(group[0], inputs=len(group)))
        return best

    def _places(self, lines):
        """The changed places of some lines: file and number of the range, counted in the new version where it has lines."""
        for version, file, line in lines:
            for one in self.diff.request["changed"]:
                if one["file"] == file:
                    for number, (first, last) in enumerate(one[version + "_lines"]):
                        if first <= line <= last:
                            yield version, file, number

    def _confirmed(self, candidates):
        """The candidates on which each version agrees with itself in new processes, and differs from the other one."""
        runs = [(1, ZONES[1]), (4242, ZONES[0])]
        hashing = self._uses_hashing()
        if hashing:
            runs += [(seed, ZONES[0]) for seed in HASH_SEEDS[:2]]
        numbered = list(enumerate(candidates))
        for number, (hash_seed, zone) in enumerate(runs):
            if not numbered:
                return []
            if self.diff.seconds_left() < LEAST_SECONDS:
                if number > 0 and not hashing:
                    break  # confirmed once, which is enough where no order of a set can matter
                many = "%d differences were" % len(numbered) if len(numbered) > 1 else "a difference was"
                self.diff.drop(self.file, "the time limit came before %s confirmed" % many)
                self.diff.outcome["unconfirmed"] += len(numbered)
                return []
            cases = [[number, found["case"]] for number, found in numbered]
            random.Random(hash_seed).shuffle(cases)
            with ThreadPoolExecutor(2) as pool:
                running = {version: pool.submit(self._outcomes, version, cases, hash_seed, zone) for version in ("new", "old")}
                seen = {version: one.result() for version, one in running.items()}
            numbered = [(number, found) for number, found in numbered if self._holds(found, number, seen)]
        return [found for _, found in numbered]

    def _holds(self, found, number, seen):
        new, old = seen["new"].get(number), seen["old"].get(number)
        if new is None or old is None:
            return False
        if diff_compare.kind_of_difference(new[0], old[0], new[1], old[1]) != found["kind"]:
            return False
        if found["kind"] == "hang" and min(new[2], old[2]) > CALL_SECONDS / SHORT:
            return False  # both take long, one of them a little longer
        found["steps"] = {"new": new[1], "old": old[1]}
        return _same(new[0], found["new"]) and _same(old[0], found["old"])

    def _outcomes(self, version, cases, hash_seed, zone):
        """Outcomes of numbered cases in new processes. A case that ends the process is an outcome too."""
        found = {}
        cases = list(cases)
        for _ in range(RESTARTS):
            if not cases:
                break
            used = {case[1][0].partition("::")[0] for case in cases}
            files = [path for path in self.snippet_files if os.path.relpath(path, self.diff.new_root) in used]
            part = dict(self._diff_part(version, None), snippets=files)
            ended = child_process.run(
                self.child_request(version, "check", 30.0, cases=cases, diff=part, importable=[
                    [home, name] for name, home in (self.result or {}).get("origin", {}).items()]),
                lambda event: None, hash_seed, zone)
            found.update((event["number"], (event["outcome"], event["steps"], event["seconds"])) for event in ended.events_named("outcome"))
            if ended.last_event("done") or ended.last_event("dropped") or ended.why is None:
                break
            cases = [case for case in cases if case[0] not in found]
            if not cases or ended.last_case is None:
                break
            how = "hangs" if ended.why == "hangs" else "crashes"
            found[cases[0][0]] = ([how, [], "{}", ended.why, False, None, False], 0, CALL_SECONDS)
            cases = cases[1:]
        return found

    def _confirm_ended(self, data):
        """A case that ended the new version's process: a difference, if the old version survives it."""
        found = []
        for hash_seed, zone in ((1, ZONES[0]), (4242, ZONES[1])):
            new = self._outcomes("new", [[0, data]], hash_seed, zone).get(0)
            old = self._outcomes("old", [[0, data]], hash_seed, zone).get(0)
            kind = diff_compare.kind_of_difference(new[0], old[0]) if new and old else None
            found.append((kind, new and new[0], old and old[0]))
        if found[0][0] in ("crash", "hang") and found[0] == found[1]:
            kind, new, old = found[0]
            one = {"case": data, "new": new, "old": old, "kind": kind, "lines": [], "inputs": 1, "test": None}
            self.diff.outcome["differences"].append(self._difference(one))

    def _uses_hashing(self):
        for one in self.diff.request["changed"]:
            for root in (self.diff.old_root, self.diff.new_root):
                try:
                    with open(os.path.join(root, one["file"]), "rb") as file:
                        if uses_hashing(ast.parse(file.read())):
                            return True
                except (OSError, SyntaxError, ValueError):
                    continue
        return False

    # -- reporting ---------------------------------------------------------------------------------------------------

    def _difference(self, found):
        target = (self.result or {}).get("targets", {}).get(found["case"][0], {})
        setup, call = self._call(found, target)
        lines = found["lines"] or self._import_lines(target)
        files = [file for _, file, _ in lines]
        cause = max(sorted(set(files)), key=files.count) if files else self.file
        ranges = {version: _ranges(line for each, file, line in lines if each == version and file == cause) for version in ("old", "new")}
        data = found["case"]
        before, after = (diff_compare.shown(found[one], found[other], found["kind"]) for one, other in (("old", "new"), ("new", "old")))
        if found["kind"] == "slow":
            before, after = ("%d lines run" % found["steps"][version] for version in ("old", "new"))
            after += ", with the same result"
        before, after = (_with_names(text, target, data) for text in (before, after))
        return {
            "file": self.file, "function": self._function(target, data, cause, ranges, found.get("text")), "line": (target.get("lines") or [0])[0],
            "kind": found["kind"], "setup": setup, "input": call, "before": before, "after": after,
            "old_lines": ranges["old"], "new_lines": ranges["new"], "cause_file": cause, "inputs": found["inputs"],
            "test": found.get("test")}

    def _function(self, target, data, cause, ranges, found_text):
        """The called function; for a snippet, the changed function that it reaches, or else the last one that it calls."""
        if target.get("how") != "snippet" or "[" not in data[0]:
            return target.get("qualified_name") or data[0]
        for one in self.diff.request["changed"]:
            if one["file"] == cause:
                for name, first, last in one.get("functions", ()):
                    if any(first <= line <= last for start, end in ranges["new"] for line in (start, end)):
                        return name
        return _called_name(found_text) or target.get("name", data[0])

    def _import_lines(self, target):
        """Changed lines that no call reaches, because they run at import: those of the called function, of the entered
        module, or else of the modules that it uses."""
        lines = [[version, file, line] for version, files in self.diff.at_import.items() for file, lines in files.items()
                 for line in lines]
        own = [each for each in lines if each[1] == self.file]
        first, last = target.get("lines") or (0, 0)
        return [each for each in own if each[0] == "new" and first <= each[2] <= last] or own or lines

    def _call(self, found, target):
        data = found["case"]
        if target.get("how") == "snippet":
            lines = found["text"].split("\n") if found.get("text") else [data[0]]
            return lines[:-1], lines[-1]
        case = Case.of(data)
        name = target.get("name", case.target.rpartition(".")[2])
        if case.receiver is None:
            return [], "%s(%s)" % (target.get("qualified_name") or case.target, arguments(case.args))
        subject, setup = case.receiver, []
        if case.steps or name.startswith("__") or target.get("how") == "setter":
            subject = subject_name(target.get("owner") or "")
            setup = ["%s = %s" % (subject, case.receiver)] + [method_statement(subject, step, args) for step, args in case.steps]
        if target.get("how") == "property":
            return setup, "%s.%s" % (subject, name)
        if target.get("how") == "setter":
            return setup, "%s.%s = %s" % (subject, name, case.args[0][1] if case.args else None)
        return setup, method_statement(subject, name, case.args)


def _import_ended(why):
    return "the import ends the process" if why == "dies" else "the import %s" % why


def _called_name(text):
    """The function that the last call in a text calls, or None."""
    try:
        statements = ast.parse(text or "").body
    except SyntaxError:
        return None
    for statement in reversed(statements):
        names = [node.func for node in ast.walk(statement) if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute))]
        if names:
            return ast.unparse(names[0]) if len(ast.unparse(names[0])) <= 60 else None
    return None


def _after_restart(lines):
    """A new reader and writer, without what the ended process left."""
    return Lines(lines.descriptor)


def _same(one, other):
    return one[:3] == other[:3] and (one[5] or [])[:2] == (other[5] or [])[:2]


def _with_names(text, target, data):
    """Names of parameters in place of `a0`."""
    plain = [name for name, style in target.get("parameters", ()) if style == "plain"]
    for index, (name, _) in enumerate(data[1]):
        shown = name or (plain[index] if index < len(plain) else None)
        if shown:
            text = re.sub(r"\ba%d\b(?= ==|\.)" % index, shown, text)
    return text.replace("subject", "the object") if "subject" in text else text


def _ranges(lines):
    found = []
    for line in sorted(set(lines)):
        if found and line == found[-1][1] + 1:
            found[-1][1] = line
        else:
            found.append([line, line])
    return found


def grouped(differences):
    """One difference per cause and kind, the easiest to read first."""
    best = {}
    for difference in sorted(differences, key=_reading):
        key = json.dumps([difference["cause_file"], difference["old_lines"], difference["new_lines"], difference["kind"]])
        if key in best:
            best[key]["inputs"] += difference["inputs"]
            best[key]["test"] = best[key]["test"] or difference["test"]
        else:
            best[key] = difference
    return list(best.values())


def _reading(difference):
    return (len(difference["setup"]), len(difference["input"]) + sum(map(len, difference["setup"])))
