"""Differences as tests that fail on the old version and pass on the new one, and what stayed the same as tests that pass on both."""
import importlib.util
import re
import sys
from concurrent.futures import ThreadPoolExecutor

from . import naming, pytest_run
from .assertions import asserts
from .cases import Case
from .formatting import format_file
from .render import Entry, Writer
from .style import style_of

LEAST_SECONDS = 3.0
PYTEST_SECONDS = 60
MAX_GUARDS = 20


class Tests:
    def __init__(self, entry):
        self.entry = entry
        self.diff = entry.diff
        self.result = entry.result
        self.module = entry.candidates["new"][0][0]

    def add(self, found):
        """Sets `test` of each difference that can be written as a test, and adds the files to the outcome."""
        wanted = self.diff.request.get("tests") or {}
        for one in found:
            one["test"] = None
        if any(wanted.values()) and (found or self.result["same"]) and importlib.util.find_spec("pytest") is None:
            self.diff.drop("tests", "none was written, because pytest is not installed (fix: %s -m pip install pytest)" % sys.executable)
            return
        if wanted.get("change") and found:
            self._add_change(found)
        if wanted.get("guard") and self.result["same"]:
            self._add_guard()

    def _add_change(self, found):
        writer = self._writer("Records what changed in %s" % self.module)
        made = []
        for one in found:
            for kept in self._asserting(writer, [one]):
                made.append(kept)
        passing = self._right(writer, made, must_fail_on_old=True)
        for one, entry in passing:
            one["test"] = entry.body
        self._publish(writer, passing, "change")

    def _add_guard(self):
        writer = self._writer("Records what stayed the same around a change of %s" % self.module)
        taken, same = set(), []
        for case, outcome in self.result["same"]:
            key = (case[0], tuple(map(str, outcome[1][:1])))
            if key not in taken and len(same) < MAX_GUARDS and case[0] in self.result["targets"] and outcome[0] in ("returns", "raises"):
                if self.result["targets"][case[0]]["how"] != "snippet":
                    taken.add(key)
                    same.append({"case": case, "new": outcome})
        made = [kept for one in same for kept in self._asserting(writer, [one])]
        right = self._right(writer, made, must_fail_on_old=False)
        self._publish(writer, right, "guard")
        if not right:
            self.diff.drop(self.module, "no test of what stayed the same could be written")

    def _writer(self, what):
        commit = self.diff.request.get("commit")
        note = "%s%s.\n\nA failure means that behaviour changed, not that the change is wrong.\n" % (
            what, " as of commit %s" % commit if commit else "")
        return Writer(self.module, self.result["targets"], self.result["origin"], note)

    def _asserting(self, writer, found):
        for one in found:
            target = self.result["targets"].get(one["case"][0])
            if target is None or one["new"][0] not in ("returns", "raises"):
                continue
            if any("<project>" in fact[2] or "0x…" in fact[2] for fact in one["new"][1]):
                continue
            entry = Entry(0, Case.of(one["case"]), one["new"], target)
            if target["how"] == "snippet":
                entry.body = _snippet_test(writer, one, entry)
            else:
                try:
                    entry.body = writer._single(entry)
                except (SyntaxError, ValueError, IndexError, KeyError):
                    continue
            if entry.body is not None and asserts(entry.body):
                yield one, entry

    def _text(self, writer, made):
        body = "\n\n\n".join(entry.body for _, entry in made)
        return format_file("%s\n%s\n\n\n%s\n" % (writer._header(), writer._imports(body), body), style_of(self.diff.new_root, []))

    def _right(self, writer, made, must_fail_on_old):
        """The tests that pass on the new version, and fail or pass on the old one as they should."""
        for _ in range(3):
            if not made or self.diff.seconds_left() < LEAST_SECONDS:
                return []
            text = self._text(writer, made)
            with ThreadPoolExecutor(2) as pool:
                failing, failing_on_old = pool.map(lambda version: self._failing(text, version), ("new", "old"))
            if failing is True or failing is None or failing is pytest_run.TOO_LATE:
                if len(made) == 1 or failing is not True:
                    return []
                # One of them breaks the file: each has to run alone.
                return [pair for one in made for pair in self._right(writer, [one], must_fail_on_old)]
            if not failing:
                break
            made = [pair for pair in made if not pytest_run.is_one_of(pair[1].test, failing)]
        if not made:
            return []
        failing = failing_on_old
        if failing is True:
            # A name that only one version has breaks the whole file there.
            if len(made) == 1:
                return made if must_fail_on_old else []
            return [pair for one in made for pair in self._right(writer, [one], must_fail_on_old)]
        if not isinstance(failing, set):
            return []
        return [pair for pair in made if pytest_run.is_one_of(pair[1].test, failing) == must_fail_on_old]

    def _failing(self, text, version):
        root = self.entry.root(version)
        sys_path = self.diff._sys_path(root) + [self.entry.candidates[version][0][1]]
        return pytest_run.failing_tests(text, "test_change.py", sys_path, [], min(PYTEST_SECONDS, self.diff.seconds_left()))

    def _publish(self, writer, made, kind):
        if made:
            self.diff.outcome["tests"].append({
                "name": "test_%s_%s.py" % (self.module.replace(".", "_").strip("_"), kind), "text": self._text(writer, made),
                "tests": [entry.test for _, entry in made], "kind": kind})


def _snippet_test(writer, one, entry):
    """The statements of a snippet as a test. Its imports are local, because names may mean something else elsewhere."""
    if one.get("imports") is None:
        return None
    lines = one["imports"].split("\n") if one["imports"] else []
    setup, expression = one["parts"]
    setup = setup.split("\n") if setup else []
    name = naming.unique(["test_%s_change_%s" % (naming.snake(re.sub(r"^test_?", "", entry.target["name"])) or "example", word)
                          for word in ("of_result", "of_value", "of_behaviour")], writer.taken)
    call = entry.wrap.format(expression)
    if entry.how == "raises":
        fact = entry.facts[0]
        match = ", match=%s" % naming.pattern(fact[2]) if fact[2] else ""
        lines.append("with pytest.raises(%s%s):" % (fact[1], match))
        lines += ["    " + line for line in setup + [call]]
        rest = []
    else:
        lines += setup
        own = [fact for fact in entry.facts if not fact[0].startswith("@")]
        lines.append("result = %s" % call)
        lines += [writer._assertion(place.format("result"), operator, expected) for place, operator, expected in own]
        rest = [fact for fact in entry.facts if fact[0] == "@out"]
    fixtures = []
    for _, _, expected in rest:
        fixtures.append("capsys")
        lines.append("assert capsys.readouterr().out == %s" % expected)
    entry.test = name
    return "def %s(%s):\n%s" % (name, ", ".join(fixtures), "\n".join("    " + line for line in lines))
