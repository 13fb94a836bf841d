"""Chooses the cases worth a test: those that reach something no other does, and those that notice a planted fault."""
import heapq
import itertools

from . import comparisons
from . import mutants as planting
from . import module_mutants
from .search import smaller_cases

CALL_SECONDS = 0.05
BATCH = 40
ROUNDS = 40
MOST_TRIES = 75
MOST_LEANER = 30
PLAIN = 25


def cover(pool, lines=None):
    """A small set of cases that reaches all that the pool reaches, or all of some lines; plain ones are preferred."""
    missing = set()
    for outcome in pool.values():
        missing |= outcome.features
    if lines is not None:
        missing = {feature for feature in missing if feature[3] in lines}
    kept, wanted = [], frozenset(missing)
    for rank in range(3):
        left = [case for case in pool if _rank(case, pool[case]) == rank]
        _cover(pool, left, missing, kept)
    return _without_idle(pool, kept, wanted)


def _without_idle(pool, kept, wanted):
    """The chosen cases without those that later ones made superfluous, the hardest to read first."""
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
    """Public behaviour first, then private functions, then failures that nobody meant."""
    return 2 if is_trivial(outcome) else 1 if is_private(case) else 0


def is_private(case):
    return any(part.startswith("_") and not part.startswith("__") for part in case.target.split("."))


def is_trivial(outcome):
    """A failure that nobody wrote a `raise` for."""
    return outcome.how == "raises" and not outcome.explicit


def _cover(pool, left, missing, kept):
    """Takes cases greedily until none adds anything; updates `missing` and `kept`."""
    weighed = sorted(((weight(case, pool[case]), repr(case.key()), case) for case in left), key=lambda item: item[:2])
    efforts = [_effort(case, pool[case]) for _, _, case in weighed]
    # What a case adds only shrinks: the best one by what it added when last looked at is looked at again, no others.
    queue = [(-len(pool[case].features & missing) / efforts[index], index) for index, (_, _, case) in enumerate(weighed)]
    heapq.heapify(queue)
    while missing and queue:
        score, index = heapq.heappop(queue)
        best = weighed[index][2]
        gained = pool[best].features & missing
        now = -len(gained) / efforts[index]
        if gained and now == score:
            kept.append(best)
            missing -= gained
        elif gained:
            heapq.heappush(queue, (now, index))


def _effort(case, outcome):
    """Of reading one more test: two plain ones are better than one that shows all at once."""
    return max(10, 40 + weight(case, outcome))


def weight(case, outcome):
    """How little a person would like to read this case."""
    heavy = case.size() + 15 * len(case.steps) + 10 * sum(1 for name, _ in case.args if name is not None)
    for _, source in case.args:
        heavy += 2 * sum(1 for char in source if not (char.isalnum() or char in " '\"_,.-[]()"))
    if outcome.example:
        heavy -= 60  # somebody wrote it as an example of how things are meant
    if is_trivial(outcome):
        heavy += 300
    if is_private(case):
        heavy += 200
    if any(fact[1] == "type" or fact[0] == "@cwd" for fact in outcome.facts):
        heavy += 20
    return heavy


class Killing:
    def __init__(self, search, swapper, functions, path, lines=None):
        """`lines` are the only ones that matter, where they are given."""
        self.lines = lines
        self.search = search
        self.runner = search.runner
        self.swapper = swapper
        self.path = path
        self.report = search.report
        self.mutants = planting.mutants(functions)
        self.killed = 0
        self.survivors = []
        self.kept = []
        self.by_line = {}

    def run(self, more=None):
        """The cases worth keeping. `more` are a `Reloaded` and mutants for it."""
        search = self.search
        pool = search.pool
        self.kept = cover(pool, self.lines)
        self._tidy()
        lines = {case: _lines(outcome, self.path) for case, outcome in pool.items()}
        for case in sorted(pool, key=lambda case: weight(case, pool[case])):
            self._index(case, lines[case])
        reached = set(self.by_line)
        todo = [mutant for mutant in self.mutants if mutant.line in reached and self._matters(mutant)]
        search.rng.shuffle(todo)
        slow = self.runner.seconds
        self.runner.seconds = CALL_SECONDS
        try:
            for mutant in todo:
                if self.report.late():
                    break
                self._judge(mutant)
            self._outside(more)
            self._aim()
        finally:
            self.runner.seconds = slow
        return self.kept

    def _tidy(self):
        """Leaves out of the chosen cases, and makes smaller, what does not matter for what each of them alone reaches."""
        pool = self.search.pool
        reached = {}
        for case in self.kept:
            for feature in pool[case].features:
                reached[feature] = reached.get(feature, 0) + 1
        for position, case in enumerate(self.kept):
            if pool[case].example:
                continue
            needed = {feature for feature in pool[case].features if reached[feature] == 1}
            lean = self._leaner(case, lambda _, outcome: outcome.features >= needed)
            for feature in pool[case].features:
                reached[feature] -= 1
            for feature in pool[lean].features:
                reached[feature] = reached.get(feature, 0) + 1
            self.kept[position] = lean

    def _leaner(self, case, enough):
        """The case without what does not matter, and with smaller values, as long as that is `enough`."""
        pool = self.search.pool
        tries, changed = 0, True
        while changed and weight(case, pool[case]) > PLAIN:
            changed = False
            for smaller in itertools.chain(smaller_cases(case), comparisons.calmer(case)):
                tries += 1
                if tries > MOST_LEANER or self.report.late():
                    return case
                if smaller.key() in self.search.excluded:
                    continue
                self.report.beat(smaller)
                outcome = self.runner.run(smaller)
                same_way = outcome.how == pool[case].how and is_trivial(outcome) == is_trivial(pool[case])
                if same_way and enough(smaller, outcome) and self.runner.run(smaller, traced=False).same(outcome):
                    pool.setdefault(smaller, outcome)
                    case, changed = smaller, True
                    break
        return case

    def _index(self, case, lines):
        for line in lines:
            self.by_line.setdefault(line, []).append(case)

    def _matters(self, mutant):
        return self.lines is None or mutant.line in self.lines

    def _outside(self, more):
        """A share of the time left for faults that need the module loaded anew."""
        if more is None or not more[1] or self.report.late():
            return
        reloaded, found = more
        found = [mutant for mutant in found if self._matters(mutant)]
        pool = self.search.pool
        others = [case for case in pool if case not in set(self.kept) and pool[case].how == "returns"]
        others.sort(key=lambda case: weight(case, pool[case]))
        share = self.report.share
        self.report.until((self.report.used() + share) / 2)
        self.search.rng.shuffle(found)
        module_mutants.judge(self, reloaded, found, self.kept + others[:150])
        self.report.until(share)

    def _judge(self, mutant):
        with planting.Planted(mutant) as function:
            mutant.code = self.swapper.compile(function)
        if mutant.code is None:
            return
        kept = set(self.kept)
        reaching = self.by_line.get(mutant.line, ())
        first = [case for case in reaching if case in kept]
        others = [case for case in reaching if case not in kept and not is_trivial(self.search.pool[case])]
        killer = self._killer(mutant, first[:80] + others[:MOST_TRIES])
        if killer is None:
            self.survivors.append(mutant)
            return
        self.killed += 1
        if killer not in kept:
            self._keep(mutant, killer)

    def _keep(self, mutant, killer):
        """Keeps a case that notices a fault, without what it does not need for that."""

        def notices(smaller, outcome):
            try:
                put = self.swapper.put(mutant.code)
                return put and outcome.noticed(self.runner.run(smaller, traced=False, like=outcome))
            finally:
                self.swapper.restore()

        lean = killer if self.search.pool[killer].example else self._leaner(killer, notices)
        if lean is not killer:
            self._index(lean, _lines(self.search.pool[lean], self.path))
        if lean not in self.kept:
            self.kept.append(lean)

    def _killer(self, mutant, cases):
        """The first case whose outcome the fault changes."""
        if not self.swapper.put(mutant.code):
            self.swapper.restore()
            return None
        pool = self.search.pool
        try:
            for case in cases:
                self.report.beat(case)
                if pool[case].noticed(self.runner.run(case, traced=False, like=pool[case])):
                    return case
        finally:
            self.swapper.restore()
        return None

    def _aim(self):
        """Varies the cases that reach a surviving fault until one notices it."""
        for _ in range(ROUNDS):
            if not self.survivors or self.report.late():
                return
            by_function = {}
            for mutant in self.survivors:
                if mutant.code is None:
                    continue
                by_function.setdefault(id(mutant.function), []).append(mutant)
            for mutants in by_function.values():
                if self.report.late():
                    return
                self._aim_at(mutants)

    def _aim_at(self, mutants):
        search = self.search
        batch = []
        wanted = {mutant.line for mutant in mutants}
        parents = [case for line in sorted(wanted) for case in self.by_line.get(line, ())[:200]]
        if not parents:
            return
        for _ in range(BATCH):
            parent = search.rng.choice(parents)
            case = search.varied(parent) if search.rng.random() < 0.85 else search.fresh(search.targets[parent.target])
            if case is None or case.key() in search.excluded or case in search.pool:
                continue
            self.report.beat(case)
            outcome = self.runner.run(case)
            if outcome.how in ("returns", "raises") and not is_trivial(outcome):
                found = _lines(outcome, self.path)
                if found & wanted:
                    batch.append((case, outcome, found))
        for mutant in mutants:
            if self.report.late():
                return
            if self._notice(mutant, batch):
                self.survivors.remove(mutant)
                self.killed += 1

    def _notice(self, mutant, batch):
        if not self.swapper.put(mutant.code):
            self.swapper.restore()
            return False
        differing = []
        try:
            for case, outcome, found in batch:
                if mutant.line in found:
                    self.report.beat(case)
                    if outcome.noticed(self.runner.run(case, traced=False, like=outcome)):
                        differing.append((case, outcome, found))
        finally:
            self.swapper.restore()
        differing.sort(key=lambda item: weight(item[0], item[1]))
        for case, outcome, found in differing[:3]:
            if self.runner.run(case, traced=False).same(outcome):
                self.search.pool[case] = outcome
                self.search.by_target.setdefault(case.target, []).append(case)
                self._index(case, found)
                self._keep(mutant, case)
                return True
        return False


def _lines(outcome, path):
    return {feature[3] for feature in outcome.features if feature[0] == path and feature[3] > 0}
