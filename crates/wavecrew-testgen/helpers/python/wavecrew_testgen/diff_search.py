"""The search for cases on which two versions differ. Guided by the changed lines that a case reaches in either version."""
import ast
import inspect

from . import diff_compare, diff_edges, snippet_options
from .cases import Case
from .plausibility import plausible, plausible_setup
from .search import BATCH, FIRST_CALLS, Search
from .selection import weight
from .simplify import shorter_cases, simpler_cases, trimmed_cases

PER_GROUP = 4  # cases kept for one cause
MAX_SAME = 40  # cases without a difference that reach changed lines, for guard tests; as many calls as snippets
STALE_LIMIT = 6000
IRRELEVANT_AFTER = 120  # calls of a target that reach nothing changed
PATIENCE, PATIENCE_FOUND = 12000, 3000  # attempts without anything new, before and after a difference is found
# Attempts without anything new when all changed lines of functions are reached, and more for each branch of changed code.
# The first pair is for a quick comparison.
ENOUGH = {True: (500, 40), False: (2500, 80)}
MAX_LEADS, EDGES_IN_TURN = 150, 4
STRETCHED_CASES = 8
LONG, LARGE = 300, 2000  # how much longer texts and lists, and how large numbers become to see whether the work grows faster
REDUCTIONS = 250  # for one case
ODD = 400
MAX_REFUSED = 3  # reasons for a target
SOME_REFUSED = "with some inputs, the sandbox refuses the %s version: %s"
ALL_REFUSED = "the sandbox refuses both versions: %s"


class Found:
    """A case on which the versions differ."""

    __slots__ = ("case", "new", "old", "kind", "lines", "weight")

    def __init__(self, case, new, old, kind, lines, weight):
        self.case, self.new, self.old, self.kind, self.lines, self.weight = case, new, old, kind, lines, weight

    def data(self, target):
        data = self._data()
        if target.how == "snippet":
            data.update(imports=target.imports, parts=target.parts(self.case.args), text=target.text(self.case.args))
        return data

    def _data(self):
        return {"case": self.case.data(), "new": self.new, "old": self.old, "kind": self.kind,
                "lines": sorted([version, file, line] for version, file, line in self.lines)}


class DiffSearch(Search):
    def compare(self, session, old, diff):
        """Compares each case with the old version from now on."""
        self.session, self.old = session, old
        self.lines = {"new": {}, "old": {}}  # changed lines by version and file
        self.spans = set()  # lines of functions with changed lines, in the new version
        self.at_import = False
        self.ranges = {}  # by version and file: the number of the range that a changed line is in
        for one in diff["changed"]:
            for version in ("new", "old"):
                self.ranges[version, one["file"]] = {
                    line: number for number, (first, last) in enumerate(one[version + "_lines"]) for line in range(first, last + 1)}
                self.lines[version][one["file"]] = {
                    line for first, last in one[version + "_lines"] for line in range(first, last + 1)}
            self.spans.update((one["file"], line) for first, last in one["spans"] for line in range(first, last + 1))
            self.at_import = self.at_import or one["at_import"] and session.is_loaded(one["path"])
        self.enough, self.per_branch = ENOUGH[diff["quick"]]
        self.inside = {(one["file"], line) for one in diff["changed"] if session.is_loaded(one["path"]) for line in one["in_functions"]}
        self.branches = set()  # of functions with changed lines
        self.groups = {}
        self.same = {False: [], True: []}  # of calls, of snippets
        self.compared = 0
        self.reached = {"new": set(), "old": set()}
        self.attempts = self.progress_at = 0
        self.relevant = {}  # by target: calls that reached a changed function
        self.tries = {}
        self.returning = set()  # targets of which a call returned and reached a changed function
        self.refused_by_new = {}  # by target, and reason: whether the sandbox refuses the old version, too
        self.leads = {}  # by target and changed lines: the first case that reaches them

    # -- one case ----------------------------------------------------------------------------------------------------

    def attempt(self, case):
        key = case.key()
        if key in self.tried or key in self.excluded or self.hangs.get(case.target, 0) >= 3:
            return False
        self.tried.add(key)
        self.attempts += 1
        self.report.record_call(case)
        self.tries[case.target] = self.tries.get(case.target, 0) + 1
        outcome = self.runner.run(case)
        new, features, steps = self.session.observed(outcome)
        near = [feature for feature in features
                if (feature[0], abs(feature[3])) in self.spans or (feature[0], feature[1]) in self.spans]
        touches = self.at_import or bool(near)
        if new[0] == "refused":
            if touches and new[3]:
                self._note_refused(case, new[3])
            return False
        known = len(self.branches)
        self.branches.update(near)
        near_new = len(self.branches) > known
        if touches:
            self.compared += 1
            if new[0] == "returns":
                self.returning.add(case.target)
            self.relevant[case.target] = self.relevant.get(case.target, 0) + 1
            old, old_features, old_steps = self.old.ask(case)
            lines = self._changed_lines(features, old_features)
            kind = diff_compare.kind_of_difference(new, old, steps, old_steps)
            if old[0] == "refused" and old[3]:
                self._add_refused(case, SOME_REFUSED % ("old", old[3]))
            if lines and len(self.leads) < MAX_LEADS:
                self.leads.setdefault((case.target, new[0], lines), case)
            if kind is not None:
                self._found(case, outcome, new, old, kind, lines)
            elif lines and old[0] != "refused":
                same = self.same[self.targets[case.target].how == "snippet"]
                if len(same) < MAX_SAME:
                    same.append((case, new, lines))
            outcome.features = outcome.features | old_features
        if outcome.how == "hangs":
            self.hangs[case.target] = self.hangs.get(case.target, 0) + 1
            return False
        if outcome.how == "returns":
            self._remember_step(case)
        fresh = outcome.features - self.features
        if fresh:
            # New branches elsewhere count only while changed code is missing.
            if near_new or self.at_import or self._missing():
                self.progress_at = self.attempts
            self.features |= fresh
            self._keep(case, outcome)
            if touches:
                self._follow_probes(case)
            return True
        if key in self.type_checked and outcome.how == "returns":
            self._follow_probes(case, 60)
        return self._another_on_path(case, outcome) if touches else False

    def _note_refused(self, case, why):
        """Remembers what the sandbox refuses in the new version, if the old version does not try it."""
        known = self.refused_by_new.setdefault(case.target, {})
        if why not in known and len(known) < MAX_REFUSED:
            old, _, _ = self.old.ask(case)
            known[why] = old[0] == "refused"
            if old[0] != "refused":
                self._add_refused(case, SOME_REFUSED % ("new", why))

    def _add_refused(self, case, why):
        known = self.refused.setdefault(case.target, {})
        if len(known) < MAX_REFUSED:
            known[why] = case

    def all_refused(self):
        """What the sandbox refuses, by target."""
        found = {target: sorted(whys) for target, whys in self.refused.items()}
        for target, whys in self.refused_by_new.items():
            if target not in found and target not in self.returning:
                found[target] = [ALL_REFUSED % why for why in sorted(whys)]
        return {target: whys for target, whys in found.items() if self.targets[target].how != "snippet"}

    def _stable(self, case, outcome):
        return True  # checked later, in new processes

    def _changed_lines(self, features, old_features):
        lines = set()
        for feature in features:
            if feature[3] in self.lines["new"].get(feature[0], ()):
                lines.add(("new", feature[0], feature[3]))
        for feature in old_features:
            if feature[4] in self.lines["old"].get(feature[1], ()):
                lines.add(("old", feature[1], feature[4]))
        for version, file, line in lines:
            self.reached[version].add((file, line))
        return frozenset(lines)

    def _found(self, case, outcome, new, old, kind, lines):
        heavy = self._weight(case, outcome)
        group = self.groups.setdefault((self._places(lines), kind), [])
        if not group:
            self.progress_at = self.attempts
        group.append(Found(case, new, old, kind, lines, heavy))
        group.sort(key=lambda found: found.weight)
        if len(group) > PER_GROUP:
            group.pop()
        else:
            self.report.send("found", case=case.data())

    def _places(self, lines):
        """The changed ranges that some lines are in."""
        return frozenset((version, file, self.ranges[version, file].get(line)) for version, file, line in lines)

    def try_cases(self, cases, examples=False):
        for case in cases:
            if self.report.is_late():
                return
            if case.target in self.targets:
                self.attempt(case)
                self._run_queue(30)

    def _weight(self, case, outcome):
        """How hard a difference is to read: direct, public and plausible cases are best."""
        target = self.targets[case.target]
        heavy = weight(case, outcome)
        if target.how == "snippet":
            return heavy + len(target.text(case.args)) + (0 if case.args == target.literals else 60)
        self.rate(case, outcome)
        return heavy + (ODD if outcome.odd else 0) + (0 if target.public else ODD)

    def rate(self, case, outcome):
        target = self.targets[case.target]
        outcome.odd = target.how != "snippet" and not (plausible(case, target) and plausible_setup(case, self.targets))
        return outcome

    def new_case(self, target):
        if target.how == "snippet":
            return self.variant(target.case())
        return super().new_case(target)

    def try_edges(self, aimed):
        """Edits the first cases that reach changed lines, in turns."""
        leads = list(self.leads.values())
        for first in (True, False):
            waiting = [diff_edges.cases(lead, aimed, first) for lead in leads]
            while waiting and not self.report.is_late():
                waiting = [cases for cases in waiting if self._try_some(cases)]

    def _try_some(self, cases):
        """Tries a few cases. Returns whether there may be more."""
        for _ in range(EDGES_IN_TURN):
            case = next(cases, None)
            if case is None:
                return False
            if self.report.is_late():
                return False
            self.attempt(case)
        return True

    def try_options(self, aimed):
        """Passes further keyword arguments in the pieces of tests that reach changed lines."""
        texts = [value for value in aimed if isinstance(value, str) and value.isidentifier()]
        functions = {}
        for target in self.targets.values():
            if target.how in ("method", "class", "static"):
                functions.setdefault(target.name, [
                    (each.name, inspect.Parameter.empty if each.required else each.default)
                    for each in target.parameters if each.style in ("plain", "keyword")])
        tries, made = {}, 0
        pieces = dict.fromkeys(case.target for case in self.leads.values())
        for key in pieces:
            target = self.targets[key]
            if target.how != "snippet":
                continue
            for call, name, parameter, default in snippet_options.options(target, functions):
                tries[name, parameter] = tries.get((name, parameter), 0) + 1
                if tries[name, parameter] > snippet_options.PER_OPTION:
                    continue
                made += 1
                if made > snippet_options.MAX_OPTIONS or self.report.is_late():
                    return
                piece = snippet_options.with_option(target, call, parameter)
                piece.pool = target.pool
                self.targets[piece.key] = self.runner.targets[piece.key] = piece
                self.stale[piece.key] = 0
                for source in snippet_options.values(default, texts):
                    self.attempt(Case(piece.key, target.literals + ((None, source),)))
                if not self.relevant.get(piece.key):
                    del self.targets[piece.key]

    # -- the loop ----------------------------------------------------------------------------------------------------

    def explore_difference(self):
        """Searches until time is up or nothing new is found for long. Most time goes to what reaches changed code."""
        plain = [target for target in self.targets.values() if target.how != "snippet"]
        plain.sort(key=lambda target: (not self._is_changed(target), not target.public))
        for target in plain:
            for _ in range(FIRST_CALLS * (4 if self._is_changed(target) else 1)):
                if self.report.is_late():
                    return
                case = self.new_case(target)
                if case is not None:
                    self.attempt(case)
            self._run_queue(60)
        while not self.report.is_late() and self.attempts - self.progress_at < self._patience():
            active = [(target, self._importance(target)) for target in self.targets.values()
                      if self.stale[target.key] < STALE_LIMIT]
            active = [pair for pair in active if pair[1] > 0]
            if not active:
                return
            at = self.rng.random() * sum(importance for _, importance in active)
            for target, importance in active:
                at -= importance
                if at <= 0:
                    break
            try:
                self.step(target, 1)
            except (OSError, EOFError):
                raise
            except Exception as error:
                from .peer import PeerGone

                if isinstance(error, PeerGone):
                    raise
                self.stale[target.key] += BATCH

    def _missing(self):
        """Whether changed lines of functions were never reached."""
        return not self.inside <= self.reached["new"]

    def _patience(self):
        """How many attempts without anything new end the search: few when it reached all that changed, and that is small."""
        most = PATIENCE_FOUND if self.groups else PATIENCE
        if self._missing() or self.at_import and not self.compared:
            return most
        size = len(self.features) if self.at_import else len(self.branches)
        return min(most, self.enough + self.per_branch * size)

    def _is_changed(self, target):
        file = self.session.changed.get(self.session.path)
        return file is not None and any((file["file"], line) in self.spans for line in range(*target.lines))

    def _importance(self, target):
        hits, tries = self.relevant.get(target.key, 0), self.tries.get(target.key, 0)
        if self._is_changed(target):
            return 8
        if hits and not self.at_import:
            return 1 + 5 * hits / max(1, tries)
        if self.at_import:
            return 2
        return 0 if tries > IRRELEVANT_AFTER or target.how == "snippet" else 1

    def stretch(self):
        """Tries cases that behave the same with large arguments, which show a slow-down."""
        if any(kind == "slow" for _, kind in self.groups):
            return
        seen = set()
        for case, new, lines in self.same[False] + self.same[True]:
            if len(seen) >= STRETCHED_CASES:
                return
            if new[0] != "returns" or (case.target, lines) in seen:
                continue
            larger = list(_stretched(case))
            seen.update([(case.target, lines)] if larger else [])
            for other in larger:
                if self.report.is_late():
                    return
                self.attempt(other)

    # -- smaller inputs ----------------------------------------------------------------------------------------------

    def reduce(self):
        """Makes the best case of each group as small as it goes, while it shows the same kind of difference."""
        for key in sorted(self.groups, key=lambda key: self.groups[key][0].weight):
            if self.report.is_late():
                return
            best = self.groups[key][0]
            if best.kind not in ("hang", "crash"):
                self.groups[key].insert(0, self._reduced(best))

    def _reduced(self, found):
        tries = 0
        progress = True
        while progress and tries < REDUCTIONS and not self.report.is_late():
            progress = False
            for smaller in self._smaller(found.case):
                tries += 1
                if tries > REDUCTIONS or self.report.is_late():
                    break
                other = self._difference_of(smaller, found)
                if other is not None and other.weight < found.weight:
                    found, progress = other, True
                    break
        return found

    def _smaller(self, case):
        target = self.targets[case.target]
        if target.how != "snippet":
            yield from shorter_cases(case)
        yield from simpler_cases(case)
        yield from trimmed_cases(case)

    def _difference_of(self, case, known):
        self.report.record_call(case)
        outcome = self.runner.run(case)
        new, features, steps = self.session.observed(outcome)
        if new[0] in ("refused", "hangs"):
            return None
        old, old_features, old_steps = self.old.ask(case)
        kind = diff_compare.kind_of_difference(new, old, steps, old_steps)
        if kind != known.kind or new[0] != known.new[0] or old[0] != known.old[0]:
            return None
        lines = self._changed_lines(features, old_features)
        if known.lines and not lines:
            return None
        return Found(case, new, old, kind, lines, self._weight(case, outcome))

    # -- results -----------------------------------------------------------------------------------------------------

    def found(self):
        return [[found.data(self.targets[found.case.target]) for found in group[:PER_GROUP]] for group in self.groups.values()]

    def unchanged(self):
        return [[case.data(), new] for case, new, _ in self.same[False] + self.same[True]]

    def reached_lines(self):
        return {version: sorted([file, line] for file, line in reached) for version, reached in self.reached.items()}


def _stretched(case):
    """Copies of a case with one argument made large."""
    for index, (name, source) in enumerate(case.args):
        try:
            value = ast.literal_eval(source)
        except (ValueError, SyntaxError, TypeError):
            continue
        if isinstance(value, (str, bytes, list, tuple)) and value:
            larger = "%s * %d" % (source, LONG)
        elif isinstance(value, int) and not isinstance(value, bool) and value > 1:
            larger = str(LARGE)
        else:
            continue
        yield Case(case.target, case.args[:index] + ((name, larger),) + case.args[index + 1:], case.receiver, case.steps)
