"""Selects the cases worth a test: those that reach something no other does, and those that kill a mutant."""
import heapq
import itertools
import re

from . import expected_errors
from .module_mutants import run_module_mutants
from .mutants import Applied, find_mutants
from .simplify import shorter_cases, simpler_cases

CALL_SECONDS = 0.05
BATCH = 40
ROUNDS = 40
MAX_TRIES = 75
MAX_SIMPLIFIED = 50
SIMPLE_WEIGHT = 8
# A number that nobody would choose.
LONG_NUMBER = re.compile(r"\b\d*[1-9]\d*[1-9]\d*[1-9]\d*\b")
LONG_NUMBER_WEIGHT = 25
MISUSE = ("TypeError", "AttributeError", "NameError", "UnboundLocalError", "RecursionError")


def covering_cases(pool, lines=None):
    """A small set of cases that reaches all that the pool reaches, or all of `lines`. Prefers simple cases."""
    missing = set()
    for outcome in pool.values():
        missing |= outcome.features
    if lines is not None:
        missing = {feature for feature in missing if feature[3] in lines}
    kept, wanted = [], frozenset(missing)
    for rank in range(3):
        left = [case for case in pool if _rank(case, pool[case]) == rank]
        _cover_greedily(pool, left, missing, kept)
    return _without_redundant(pool, kept, wanted)


def _without_redundant(pool, kept, wanted):
    """The kept cases without those that others make redundant, removing the hardest to read first."""
    reached = {}
    for case in kept:
        for feature in pool[case].features & wanted:
            reached[feature] = reached.get(feature, 0) + 1
    idle = set()
    for case in sorted(kept, key=lambda case: -weight(case, pool[case])):
        features = pool[case].features & wanted
        if not pool[case].example and all(reached[feature] > 1 for feature in features):
            idle.add(case)
            for feature in features:
                reached[feature] -= 1
    return [case for case in kept if case not in idle]


def _rank(case, outcome):
    """Public behaviour first, then private functions, then unintended errors."""
    return 2 if is_unintended_error(outcome) else 1 if is_private(case) else 0


def is_private(case):
    return any(part.startswith("_") and not part.startswith("__") for part in case.target.split("."))


def is_unintended_error(outcome):
    """An error that no `raise` of the project explains."""
    return outcome.how == "raises" and not outcome.explicit


def is_misuse(case, outcome):
    """An error that only says that the arguments are of the wrong type or lack a key: nobody relies on it."""
    if not is_unintended_error(outcome) or outcome.error is None:
        return False
    return outcome.error[0] in MISUSE or outcome.error[0] == "KeyError" and expected_errors.lacks_key(case, outcome.error[1])


def _cover_greedily(pool, left, missing, kept):
    """Adds cases greedily until none adds anything. Updates `missing` and `kept`."""
    weighted = sorted(((weight(case, pool[case]), repr(case.key()), case) for case in left), key=lambda item: item[:2])
    efforts = [_effort(case, pool[case]) for _, _, case in weighted]
    # What a case adds only shrinks, so only the best one by its last score needs a new score.
    queue = [(-len(pool[case].features & missing) / efforts[index], index) for index, (_, _, case) in enumerate(weighted)]
    heapq.heapify(queue)
    while missing and queue:
        score, index = heapq.heappop(queue)
        best = weighted[index][2]
        gained = pool[best].features & missing
        now = -len(gained) / efforts[index]
        if gained and now == score:
            kept.append(best)
            missing -= gained
        elif gained:
            heapq.heappush(queue, (now, index))


def _effort(case, outcome):
    """The cost of one more test: two simple tests are better than one that shows everything."""
    return max(10, 40 + weight(case, outcome))


def weight(case, outcome):
    """How hard a case is to read."""
    heavy = case.size() + 15 * len(case.steps) + 10 * sum(1 for name, _ in case.args if name is not None)
    for _, source in case.args:
        heavy += 2 * sum(1 for char in source if not (char.isalnum() or char in " '\"_,.-[]()"))
        heavy += LONG_NUMBER_WEIGHT * len(LONG_NUMBER.findall(source))
    if outcome.example:
        heavy -= 60  # somebody wrote it as an example
    if is_unintended_error(outcome):
        heavy += 300
    if is_private(case):
        heavy += 200
    if outcome.odd:
        heavy += 120
    if outcome.idle:
        heavy += 60  # a change of state shows more
    if any(fact[1] == "type" or fact[0] == "@cwd" for fact in outcome.facts):
        heavy += 20
    return heavy


class Selection:
    def __init__(self, search, replacer, functions, path, lines=None):
        """`lines` are the only ones that matter, if given."""
        self.lines = lines
        self.search = search
        self.runner = search.runner
        self.replacer = replacer
        self.path = path
        self.report = search.report
        self.mutants = find_mutants(functions)
        self.function_lines = {
            line for function in functions for line in range(function.lineno, (function.end_lineno or function.lineno) + 1)}
        self.killed = 0
        self.survivors = []
        self.kept = []
        self.cases_by_line = {}

    def run(self, more=None):
        """The cases worth keeping. `more` is a pair of `ModuleCopies` and module mutants."""
        search = self.search
        pool = search.pool
        for case in [case for case in pool if self._is_worthless(case)]:
            del pool[case]
            search.by_target[case.target].remove(case)
        self.kept = covering_cases(pool, self.lines)
        self._simplify_kept()
        lines = {case: _lines(outcome, self.path) for case, outcome in pool.items()}
        for case in sorted(pool, key=lambda case: weight(case, pool[case])):
            self._index(case, lines[case])
        reached = set(self.cases_by_line)
        todo = [mutant for mutant in self.mutants if mutant.line in reached and self._is_wanted(mutant)]
        search.rng.shuffle(todo)
        slow = self.runner.seconds
        self.runner.seconds = CALL_SECONDS
        try:
            for mutant in todo:
                if self.report.is_late():
                    break
                self._run_mutant(mutant)
            self._run_module_mutants(more)
            self._search_killers()
        finally:
            self.runner.seconds = slow
        return self.kept

    def _is_worthless(self, case):
        """Whether nobody relies on it: misuse, and what private functions do with odd input."""
        outcome = self.search.pool[case]
        if self.search.targets[case.target].how == "class" and outcome.how == "returns" and all(fact[1] == "type" for fact in outcome.facts):
            return True  # a class always makes objects of its own
        return is_misuse(case, outcome) or is_private(case) and (outcome.odd or is_unintended_error(outcome))

    def _simplify_kept(self):
        """Simplifies the kept cases, as long as each still reaches what only it reaches."""
        pool = self.search.pool
        reached = {}
        for case in self.kept:
            for feature in pool[case].features:
                reached[feature] = reached.get(feature, 0) + 1
        for position, case in enumerate(self.kept):
            if pool[case].example:
                continue
            needed = {feature for feature in pool[case].features if reached[feature] == 1}
            lean = self._simplified(case, lambda _, outcome: outcome.features >= needed)
            for feature in pool[case].features:
                reached[feature] -= 1
            for feature in pool[lean].features:
                reached[feature] = reached.get(feature, 0) + 1
            self.kept[position] = lean

    def _simplified(self, case, enough):
        """The simplest variant of a case that is still `enough`."""
        pool = self.search.pool
        tries, changed = 0, True
        while changed and weight(case, pool[case]) > SIMPLE_WEIGHT:
            changed = False
            for smaller in itertools.chain(shorter_cases(case), simpler_cases(case)):
                tries += 1
                if tries > MAX_SIMPLIFIED or self.report.is_late():
                    return case
                if smaller.key() in self.search.excluded:
                    continue
                self.report.record_call(smaller)
                outcome = self.runner.run(smaller)
                same_way = outcome.how == pool[case].how and is_unintended_error(outcome) == is_unintended_error(pool[case])
                same_way = same_way and not is_misuse(smaller, outcome)
                if same_way and enough(smaller, outcome) and self.runner.run(smaller, traced=False).same(outcome):
                    pool.setdefault(smaller, self.search.rate(smaller, outcome))
                    case, changed = smaller, True
                    break
        return case

    def _index(self, case, lines):
        for line in lines:
            self.cases_by_line.setdefault(line, []).append(case)

    def _is_wanted(self, mutant):
        return self.lines is None or mutant.line in self.lines

    def _run_module_mutants(self, more):
        """Runs mutants that need the module to be loaded again, in a part of the remaining time."""
        if more is None or not more[1] or self.report.is_late():
            return
        copies, found = more
        found = [mutant for mutant in found if self._is_wanted(mutant)]
        pool = self.search.pool
        others = [case for case in pool if case not in set(self.kept) and pool[case].how == "returns"]
        others.sort(key=lambda case: weight(case, pool[case]))
        share = self.report.share
        self.report.set_limit((self.report.used_share() + share) / 2)
        self.search.rng.shuffle(found)
        # Rows of tables first: inputs that kill their mutants often kill those of the code that builds the tables.
        found.sort(key=lambda mutant: mutant.line in self.function_lines)
        run_module_mutants(self, copies, found, self.kept + others[:150])
        self.report.set_limit(share)

    def _run_mutant(self, mutant):
        with Applied(mutant) as function:
            mutant.code = self.replacer.compile(function)
        if mutant.code is None:
            return
        kept = set(self.kept)
        reaching = self.cases_by_line.get(mutant.line, ())
        first = [case for case in reaching if case in kept]
        others = [case for case in reaching if case not in kept and not is_unintended_error(self.search.pool[case])]
        killer = self._first_killer(mutant, first[:80] + others[:MAX_TRIES])
        if killer is None:
            self.survivors.append(mutant)
            return
        self.killed += 1
        if killer not in kept:
            self._keep_killer(mutant, killer)

    def _keep_killer(self, mutant, killer):
        """Keeps a case that kills a mutant, simplified as long as it does."""

        def kills(smaller, outcome):
            try:
                put = self.replacer.replace(mutant.code)
                return put and outcome.test_fails_on(self.runner.run(smaller, traced=False, like=outcome))
            finally:
                self.replacer.restore()

        lean = killer if self.search.pool[killer].example else self._simplified(killer, kills)
        if lean is not killer:
            self._index(lean, _lines(self.search.pool[lean], self.path))
        if lean not in self.kept:
            self.kept.append(lean)

    def _first_killer(self, mutant, cases):
        """The first case that kills a mutant, or None."""
        if not self.replacer.replace(mutant.code):
            self.replacer.restore()
            return None
        pool = self.search.pool
        try:
            for case in cases:
                self.report.record_call(case)
                if pool[case].test_fails_on(self.runner.run(case, traced=False, like=pool[case])):
                    return case
        finally:
            self.replacer.restore()
        return None

    def _search_killers(self):
        """Varies the cases that reach surviving mutants until one kills them."""
        for _ in range(ROUNDS):
            if not self.survivors or self.report.is_late():
                return
            by_function = {}
            for mutant in self.survivors:
                if mutant.code is None:
                    continue
                by_function.setdefault(id(mutant.function), []).append(mutant)
            for mutants in by_function.values():
                if self.report.is_late():
                    return
                self._search_killers_in(mutants)

    def _search_killers_in(self, mutants):
        search = self.search
        batch = []
        wanted = {mutant.line for mutant in mutants}
        parents = [case for line in sorted(wanted) for case in self.cases_by_line.get(line, ())[:200]]
        if not parents:
            return
        for _ in range(BATCH):
            parent = search.rng.choice(parents)
            case = search.variant(parent) if search.rng.random() < 0.85 else search.new_case(search.targets[parent.target])
            if case is None or case.key() in search.excluded or case in search.pool:
                continue
            self.report.record_call(case)
            outcome = self.runner.run(case)
            if outcome.how in ("returns", "raises") and not is_unintended_error(outcome):
                found = _lines(outcome, self.path)
                if found & wanted:
                    batch.append((case, outcome, found))
        for mutant in mutants:
            if self.report.is_late():
                return
            if self._find_killer(mutant, batch):
                self.survivors.remove(mutant)
                self.killed += 1

    def _find_killer(self, mutant, batch):
        if not self.replacer.replace(mutant.code):
            self.replacer.restore()
            return False
        differing = []
        try:
            for case, outcome, found in batch:
                if mutant.line in found:
                    self.report.record_call(case)
                    if outcome.test_fails_on(self.runner.run(case, traced=False, like=outcome)):
                        differing.append((case, outcome, found))
        finally:
            self.replacer.restore()
        differing.sort(key=lambda item: weight(item[0], self.search.rate(item[0], item[1])))
        for case, outcome, _ in differing[:3]:
            if self.runner.run(case, traced=False).same(outcome):
                self.add_case(case, outcome)
                self._keep_killer(mutant, case)
                return True
        return False

    def add_case(self, case, outcome):
        """Adds a case that the search did not find."""
        self.search.pool[case] = self.search.rate(case, outcome)
        self.search.by_target.setdefault(case.target, []).append(case)
        self._index(case, _lines(outcome, self.path))


def _lines(outcome, path):
    return {feature[3] for feature in outcome.features if feature[0] == path and feature[3] > 0}
