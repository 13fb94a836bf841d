"""Searches for cases that reach new code, guided by coverage, and keeps several on every path."""

from . import comparisons
from .cases import Case
from .classes import FIXTURE_SHARE
from .plausibility import plausible, plausible_setup
from .simplify import shorter_cases

PER_PATH = 5
ERRORS_PER_PATH = 3  # unintended errors, one input of each
MAX_POOL = 1500
STALE_LIMIT_DONE = 500
STALE_LIMIT_OPEN = 2500
BATCH = 25
MAX_HANGS = 5
WITH_FIXTURES = 12
MAX_WORKED = 20
MAX_STEP = 80
MAX_TYPE_CHECKED = 150
PROBE_OPEN_EVERY = 2
PROBE_DONE_EVERY = 8
SWEPT_CASES = 2
FIRST_CALLS = 4
PER_STEP = 120  # queued cases that run after a batch


class Search:
    def __init__(self, runner, targets, classes, maker, vary, rng, probes, report):
        self.runner = runner
        self.targets = {target.key: target for target in targets}
        self.classes = classes
        self.maker = maker
        self.vary = vary
        self.rng = rng
        self.probes = probes
        self.report = report
        self.pool = {}  # case: outcome, in the order of discovery
        self.by_target = {}
        self.paths = {}
        self.features = set()
        self.tried = set()
        self.excluded = set()
        self.stale = {key: 0 for key in self.targets}
        self.hangs = {}
        self.refused = {}
        self.queue = []
        self.type_checked = set()  # cases with arguments of a type that the code checks for, which always run with probes
        self.owners = {}
        self.working_args = {}  # by method: arguments that worked
        for target in targets:
            if target.how == "method" and target.owner is not None:
                self.owners.setdefault(target.owner, []).append(target)

    # -- trying one case ---------------------------------------------------------------------------------------------

    def attempt(self, case):
        """Runs a case that was not tried before. Returns whether it was kept."""
        key = case.key()
        if key in self.tried or key in self.excluded:
            return False
        if self.hangs.get(case.target, 0) >= MAX_HANGS:
            return False
        if len(self.tried) < 400000:
            self.tried.add(key)
        self.report.record_call(case)
        outcome = self.runner.run(case)
        if outcome.how == "hangs":
            self.hangs[case.target] = self.hangs.get(case.target, 0) + 1
            self.report.hang(case, outcome)
            return False
        if outcome.how == "refused":
            if not outcome.why.startswith("setup"):
                if outcome.why not in self.refused.setdefault(case.target, {}):
                    self.report.send("refused", target=case.target, why=outcome.why)  # now, because this process may crash later
                self.refused[case.target][outcome.why] = case
            return False
        if outcome.how == "returns":
            self._remember_step(case)
        new = outcome.features - self.features
        if new:
            if not self._stable(case, outcome):
                return False
            case, outcome = self._simpler(case, outcome, new)
            self.features |= new
            self._keep(case, outcome)
            self._follow_probes(case)
            return True
        if key in self.type_checked and outcome.how == "returns":
            self._follow_probes(case, 60)
        return self._another_on_path(case, outcome)

    def _remember_step(self, case):
        """Remembers arguments that a method accepted, for steps."""
        target = self.targets[case.target]
        if target.how == "method" and case.args and not target.is_read_only and case.size() < MAX_STEP:
            worked = self.working_args.setdefault(target.key, [])
            if len(worked) < MAX_WORKED:
                worked.append(case.args)
            elif self.rng.random() < 0.1:
                worked[self.rng.randrange(MAX_WORKED)] = case.args

    def _stable(self, case, outcome):
        again = self.runner.run(case)
        if not again.same(outcome):
            self.refused.setdefault(case.target, {})["its result changes from call to call"] = case
            return False
        return True

    def _simpler(self, case, outcome, new):
        """The case without steps and options that are not needed to reach `new`."""
        changed = True
        while changed:
            changed = False
            for smaller in shorter_cases(case):
                self.report.record_call(smaller)
                found = self.runner.run(smaller)
                if found.how == outcome.how and found.features >= new and self._stable(smaller, found):
                    case, outcome, changed = smaller, found, True
                    break
        return case, outcome

    def _another_on_path(self, case, outcome):
        path = (case.target, outcome.features)
        known = self.paths.setdefault(path, [])
        trivial = outcome.how == "raises" and not outcome.explicit
        if len(known) >= (ERRORS_PER_PATH if trivial else PER_PATH) or len(self.pool) >= MAX_POOL:
            return False
        if outcome.facts in known or not self._stable(case, outcome):
            return False
        self._keep(case, outcome)
        return True

    def rate(self, case, outcome):
        """Notes how sensible a case is, for the selection."""
        outcome.odd = not (plausible(case, self.targets[case.target]) and plausible_setup(case, self.targets))
        return outcome

    def _keep(self, case, outcome):
        self.rate(case, outcome)
        self.paths.setdefault((case.target, outcome.features), []).append(outcome.facts)
        self.pool[case] = outcome
        self.by_target.setdefault(case.target, []).append(case)
        self.report.found(case)
        target = self.targets[case.target]
        if outcome.how == "returns":
            if target.how == "class":
                self.classes.remember(target.owner, "%s(%s)" % (target.qualified_name, _arguments(case)))
            elif case.receiver is None and isinstance(outcome.kind, type) and outcome.kind in self.owners:
                self.classes.remember(outcome.kind, "%s(%s)" % (target.qualified_name, _arguments(case)))

    def _follow_probes(self, case, most=160):
        """Runs a case with probes and queues the cases that they suggest."""
        try:
            self._queue_suggestions(case, self.probes.watch(lambda: self.runner.run(case, traced=False)), most)
        except Exception:
            pass  # probes compare objects of the project, whose methods may raise anything

    def _queue_suggestions(self, case, probe, most):
        target = self.targets[case.target]
        values = [self.value_of(source) for _, source in case.args]
        fixed = [(known, kind) for value, kind in probe.checks for known in values if _same(known, value)]
        probe.checks = fixed[:20]
        given = {name for name, _ in case.args}
        plain = sum(1 for name, _ in case.args if name is None)
        defaults = [
            (p.name, p.default) for p in target.parameters[plain:]
            if p.name not in given and not p.required and p.style in ("plain", "keyword") and isinstance(p.default, comparisons.SIMPLE)]
        self.queue.extend(comparisons.cases_from_comparisons(case, probe, self.rng, defaults, most))
        if len(self.type_checked) < MAX_TYPE_CHECKED:
            typed = list(comparisons.cases_of_checked_types(case, probe, self.maker, target.pool, values))
            self.type_checked.update(one.key() for one in typed)
            self.queue.extend(typed)

    def value_of(self, source):
        """The value of an expression, or None when it has none."""
        try:
            return self.runner.evaluate(source)
        except Exception:
            return None

    # -- making cases ------------------------------------------------------------------------------------------------

    def new_case(self, target):
        args = self.classes.arguments(target, self.maker, target.pool)
        if target.how not in ("method", "property", "setter"):
            return Case(target.key, args)
        receiver = self.classes.expression(target.owner, self.maker, target.pool, 0)
        if receiver is None:
            return None
        return Case(target.key, args, receiver, self._steps(target))

    def _steps(self, target):
        others = [t for t in self.owners.get(target.owner, ()) if t.public and not t.is_read_only]
        if not others or self.rng.random() < 0.45:
            return ()
        steps = []
        if self.rng.random() < 0.15:
            # Repeat one step, for code that counts.
            step = self._one_step(others, target)
            return (step,) * self.rng.choice((2, 3, 4, 5, 6, 8))
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            steps.append(self._one_step(others, target))
        return tuple(steps)

    def _one_step(self, others, target):
        other = self.rng.choice(others)
        worked = self.working_args.get(other.key)
        if worked and self.rng.random() < 0.6:
            return other.name, self.rng.choice(worked)
        return other.name, tuple(self.classes.arguments(other, self.maker, target.pool, 1))

    def variant(self, case):
        """A changed copy of a case."""
        rng = self.rng
        target = self.targets[case.target]
        args, receiver, steps = list(case.args), case.receiver, case.steps
        self.vary.pool = target.pool
        for _ in range(rng.choice((1, 1, 1, 2))):
            choice = rng.random()
            if receiver is not None and choice < 0.35:
                if rng.random() < 0.6:
                    receiver = self.vary.expression(receiver)
                elif rng.random() < 0.5:
                    given = [source for _, args in steps for _, source in args]
                    if given and rng.random() < 0.5:
                        index = rng.randrange(len(given))
                        steps = comparisons.with_step(steps, index, self.vary.expression(given[index]))
                    else:
                        steps = self._steps(target)
                else:
                    receiver = self.classes.expression(target.owner, self.maker, target.pool, 0) or receiver
            elif not args or choice > 0.93:
                args = self.classes.arguments(target, self.maker, target.pool)
            else:
                index = rng.randrange(len(args))
                name, source = args[index]
                if len(args) > 1 and rng.random() < 0.12:
                    # Similar arguments, for code that compares them.
                    alike = rng.choice(args)[1]
                    args[index] = (name, self.vary.expression(alike) if rng.random() < 0.5 else alike)
                elif rng.random() < 0.75:
                    args[index] = (name, self.vary.expression(source))
                else:
                    parameter = self._parameter(target, index, name)
                    if parameter is not None:
                        args[index] = (name, self.classes.value(parameter, self.maker, target.pool))
                if rng.random() < 0.1 and name is not None:
                    del args[index]
                elif rng.random() < 0.1:
                    args = self._one_more(target, args)
        return Case(case.target, args, receiver, steps)

    def _parameter(self, target, index, name):
        for parameter in target.parameters:
            if parameter.name == name:
                return parameter
        plain = [p for p in target.parameters if p.style in ("plain", "many")]
        if not plain:
            return None
        return plain[min(index, len(plain) - 1)]

    def _one_more(self, target, args):
        given = {name for name, _ in args if name} | {
            p.name for p in target.parameters[:sum(1 for name, _ in args if name is None)]}
        free = [p for p in target.parameters if p.name not in given and p.style in ("plain", "keyword")]
        if not free:
            return args
        parameter = self.rng.choice(free)
        return args + [(parameter.name, self.classes.value(parameter, self.maker, target.pool))]

    def add_targets(self, targets):
        """Adds targets to a running search."""
        for target in targets:
            self.targets[target.key] = target
            self.stale[target.key] = 0

    # -- the loop ----------------------------------------------------------------------------------------------------

    def try_cases(self, cases, examples=False):
        """Tries given cases. Examples are kept even if they reach nothing new."""
        for case in cases:
            if case.target not in self.targets:
                continue
            self.attempt(case)
            if examples and case not in self.pool:
                outcome = self.runner.run(case)
                if outcome.how == "returns" and self._stable(case, outcome):
                    self._keep(case, outcome)
            if examples and case in self.pool:
                self.pool[case].example = True
            self._run_queue()

    def call_each(self, targets):
        """Calls each target a few times, also when little time is left, before some of them take most of it."""
        for target in targets:
            for _ in range(FIRST_CALLS):
                case = self.new_case(target)
                if case is not None:
                    self.attempt(case)

    def try_fixtures_first(self):
        """Tries cases with the project's fixtures first, so that others are kept only if they add something."""
        self.classes.fixture_share = 1.0
        for target in self.targets.values():
            owned = target.how in ("method", "property", "setter") and target.owner in self.classes.fixtures
            if owned or any(parameter.fixtures for parameter in target.parameters):
                made = [case for case in (self.new_case(target) for _ in range(WITH_FIXTURES)) if case is not None]
                if owned:
                    names = self.classes.fixtures[target.owner]
                    plain = [Case(target.key, case.args, self.rng.choice(names)) for case in made]
                    made = plain + [Case(target.key, case.args, case.receiver, self._steps(target)) for case in plain]
                self.try_cases(made)
        self.classes.fixture_share = FIXTURE_SHARE

    def _run_queue(self, most=400):
        """Tries the cases that probes suggested, newest first."""
        count = 0
        while self.queue and count < most and not self.report.is_late():
            case = self.queue.pop()
            self.attempt(case)
            count += 1
        if len(self.queue) > 4000:
            del self.queue[:2000]

    def step(self, target, missing):
        """A batch of attempts on one target. `missing` is the number of its unreached lines."""
        found = False
        for _ in range(BATCH):
            if self.report.is_late():
                return
            known = self.by_target.get(target.key)
            if known and self.rng.random() < 0.6:
                parent = known[-1 - min(int(self.rng.expovariate(0.15)), len(known) - 1)]
                case = self.variant(parent)
            else:
                case = self.new_case(target)
            if case is None:
                self.stale[target.key] += BATCH
                return
            before = len(self.features)
            self.attempt(case)
            if len(self.features) > before:
                found = True
        self.stale[target.key] = 0 if found else self.stale[target.key] + BATCH
        often = PROBE_OPEN_EVERY if missing else PROBE_DONE_EVERY
        safe = case.key() not in self.excluded and target.key not in self.hangs
        if not found and safe and self.rng.randrange(often) == 0:
            self._follow_probes(case, 30)  # coverage does not distinguish conditions on one line
        self._run_queue(PER_STEP)

    def sweep(self, target):
        """Tries all numbers near those of successful calls, for conditions that few numbers meet."""
        well = [case for case in self.by_target.get(target.key, ()) if self.pool[case].how == "returns"]
        well.sort(key=lambda case: not self.pool[case].example)
        for case in well[:SWEPT_CASES]:
            for other in comparisons.cases_with_nearby_numbers(case):
                if self.report.is_late():
                    return
                self.attempt(other)
        self._run_queue()

    def explore(self, open_lines):
        """Searches until nothing new is found for long, or time is up. `open_lines` counts unreached lines of a target."""
        while not self.report.is_late():
            active = []
            for target in self.targets.values():
                missing = open_lines(target)
                limit = STALE_LIMIT_OPEN if missing else STALE_LIMIT_DONE
                if self.stale[target.key] < limit:
                    active.append((target, 1 + 3 * min(missing, 5), missing))
            if not active:
                return
            total = sum(weight for _, weight, _ in active)
            at = self.rng.random() * total
            for target, weight, missing in active:
                at -= weight
                if at <= 0:
                    break
            try:
                self.step(target, missing)
            except Exception:
                # An unexpected value must not lose what was found before.
                self.stale[target.key] += 1


def _arguments(case):
    from .cases import arguments

    return arguments(case.args)


def _same(one, other):
    try:
        return type(one) is type(other) and bool(one == other)
    except Exception:
        return False
