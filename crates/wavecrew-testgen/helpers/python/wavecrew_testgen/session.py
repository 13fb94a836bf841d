"""One session of the child: what is to be tested is understood, searched and judged, or checked again."""
import ast
import random
import sys
import time

from . import argument_checks, clock, defects, module_mutants, tracing
from .cases import Case
from .classes import Classes
from .fixtures import fits, missed
from .examples import Harvest
from .names import Names
from .probes import Probes
from .run import Runner
from .search import Search
from .selection import Killing
from .code_replacement import Swapper
from .targets import Analysis
from .values import Maker, Pool, constants, patterns_of, separators
from .variation import Vary

SEARCH_SHARE = 0.45
KILL_SHARE = 0.95
PRIVATE_SHARE = 0.1
MORE_SHARE = 0.7
HARVEST_SHARE = 0.08
CALL_SHARE = 0.04
SETUP_SHARE = 0.15
MANY_TARGETS = 100  # each is called now and then, before any is looked at closer


def failed(report, why):
    report.send("failed", why=why)


class Session:
    def __init__(self, request, module, guard, report, tracer, import_features, fixtures):
        self.request = request
        self.module = module
        self.report = report
        self.path = module.__file__
        with open(self.path, "rb") as file:
            self.source = file.read()
        self.names = Names(module, request["packages"])
        self.analysis = Analysis(module, self.names, self.source, self.path)
        self.import_features = import_features
        targets = self.analysis.targets
        seeded = "random" in vars(module) or b"from random import" in self.source or b"import random" in self.source
        paths = [
            other.__file__ for name, other in list(sys.modules.items())
            if name.split(".")[0] in request["packages"] and getattr(other, "__file__", None)
        ]
        self.fixtures = fixtures
        self.missed = {}
        self.runner = Runner(
            self.names, guard, tracer, {t.key: t for t in targets}, paths + [self.path], seeded, self.fixtures,
            b"round(" in self.source)
        # Now, as a large file takes longer to read than a call may.
        self.runner.raises[self.path] = argument_checks.lines_in(self.analysis.tree)
        self.runner.seconds = min(0.3, max(0.05, request["seconds"] * CALL_SHARE))

    def run(self):
        params = self.fixtures.param_sources(self.runner.facts.source)
        if self.request["mode"] == "fixtures":
            self._tell_fixtures(params)
            return
        self.fixtures.begin(self.request["automatic"])
        if self.request["mode"] == "check":
            self._check()
        else:
            self._search()

    def _tell_fixtures(self, params):
        automatic, troubles = self.fixtures.try_automatic()
        self.fixtures.begin(automatic)
        made = self.fixtures.values(self.fixtures.of_use(self.names), self.runner.facts.of)
        self.report.send(
            "done", fixtures={name: facts for name, (_, facts) in made.items()}, automatic=automatic, troubles=troubles,
            params=params, failure=self.fixtures.failure, passed_over=self.fixtures.troubles)

    # -- checking ----------------------------------------------------------------------------------------------------

    def _check(self):
        """Runs given cases once, in the order given."""
        patient = "call_seconds" in self.request
        if patient:
            self.runner.seconds = self.request["call_seconds"]
            harvest = Harvest(self.analysis.targets, self.names, self.request["module"])
            harvest.docstrings(self.module, self.analysis.targets)
            harvest.teach(self.runner.targets, self.runner.evaluate)
        for kind in self.request.get("adopted", ()):
            home, name = kind
            found = getattr(sys.modules.get(home), name, None)
            if found is not None:
                self.names.adopt(found)
        for number, data in self.request["cases"]:
            case = Case.of(data)
            if case.target not in self.runner.targets:
                continue
            if patient:
                plausible = defects.plausible(case, self.runner.targets[case.target])
                self.report.send("tries", plausible=plausible)
                if not plausible:
                    continue
            self.report.beat(case)
            began = time.process_time()
            outcome = self.runner.run(case, traced=False)
            self.report.send("outcome", number=number, outcome=outcome.data(), seconds=time.process_time() - began)
        self.report.send("done")

    # -- searching ---------------------------------------------------------------------------------------------------

    def _search(self):
        request = self.request
        rng = random.Random(request["seed"])
        started = time.process_time()
        targets = self._wanted()
        if not targets:
            self.report.send("left_out", why="has nothing public to call")
            return
        given = self._fixtures()
        harvest = Harvest(targets, self.names, request["module"], given)
        harvest.docstrings(self.module, targets)
        begun = self.report.left()
        harvest.files(
            request["harvest_root"], self.path, lambda: begun - self.report.left() > request["seconds"] * HARVEST_SHARE)
        harvest.teach(self.runner.targets, self.runner.evaluate)
        self._pools(self.analysis.targets, harvest)
        classes = Classes(self.names, self.analysis)
        for name, value in given.items():
            classes.given.setdefault(type(value), []).append(name)
        maker = Maker(rng, self.names, classes)
        functions = list(self.analysis.functions.values())
        swapper = Swapper(self.path, self.analysis.tree)
        probes = Probes(swapper, functions)
        search = Search(
            self.runner, targets, classes, maker, Vary(rng, targets[0].pool), rng, probes, self.report)
        if self.report.used() > SETUP_SHARE:
            self.report.begin()  # a large module took long to read, and has to be searched all the same
        search.features |= self.import_features
        search.excluded = {Case.of(data).key() for data in request["excluded"]}
        self.report.until(SEARCH_SHARE)
        search.seeds([Case.of(data) for data in request["corpus"]])
        search.begin_with_fixtures()
        search.seeds(harvest.cases, examples=True)
        executable = self._body_lines()

        wanted = self._asked_for()
        counted = executable if wanted is None else executable & wanted
        open_lines = Open(search, self.analysis.targets, counted).lines
        if len(targets) > MANY_TARGETS:
            search.seeds(filter(None, (search.fresh(target) for target in targets for _ in range(3))))
        search.explore(open_lines)
        self._private(search, executable, open_lines)
        self._go_on(search, open_lines)
        self.report.send("phase", name="search", seconds=time.process_time() - started, calls=self.runner.calls)
        self.report.until(KILL_SHARE)
        finder = defects.Finder(search, harvest, self.names, self.analysis)
        found = finder.run()
        killing = Killing(search, swapper, functions, self.path, wanted)
        reached = tracing.lines_of(self.import_features, self.path)
        loading = module_mutants.wanted(self.analysis.tree, functions, reached)
        kept = killing.run((module_mutants.Reloaded(self.module, self.runner, request["packages"]), loading))
        kept = [case for case in kept if not finder.suspicious(case, search.pool[case])]
        self._finish(search, killing, kept, executable, found, started)

    def _fixtures(self):
        """Those that give here what they gave in another process, by name; parameters learn which of them fit."""
        known = self.request["fixtures"]
        made = self.fixtures.values([name for name in sorted(known) if name in self.fixtures.functions], self.runner.facts.of)
        given = {name: value for name, (value, facts) in made.items() if known.get(name) == facts}
        troubles = {name: "gives something else in another process" for name in made if name not in given}
        self.missed = missed(dict(self.request["passed_over"], **troubles), self.analysis.targets)
        for target in self.analysis.targets:
            for parameter in target.parameters:
                parameter.given = [name for name, value in given.items() if fits(name, value, parameter)]
        return given

    def _wanted(self):
        """Public targets, or all of them in a module that is private as a whole."""
        given_up = self.request["given_up"]  # calls of these ended the process more than once
        targets = [target for target in self.analysis.targets if target.key not in given_up]
        return [target for target in targets if target.public] or targets

    def _private(self, search, executable, open_lines):
        """Private functions are called directly only where nothing public reached parts of them."""
        missing = [
            target for target in self.analysis.targets
            if target.key not in search.targets and target.key not in self.request["given_up"] and open_lines(target)
        ]
        if not missing:
            return
        self.report.until(SEARCH_SHARE + PRIVATE_SHARE)
        search.adopt(missing)
        search.explore(open_lines)

    def _go_on(self, search, open_lines):
        """More time where lines are open: what is not reached cannot be judged either."""
        missing = [target for target in search.targets.values() if open_lines(target)]
        if missing:
            for target in missing:
                search.stale[target.key] = 0
            self.report.until(MORE_SHARE)
            for target in missing:
                search.sweep(target)
            search.explore(open_lines)

    def _asked_for(self):
        """The lines that the round before left open, or nothing where there was none."""
        feedback = self.request.get("feedback") or {}
        lines = set(feedback.get("survivors") or ())
        for first, last in feedback.get("uncovered") or ():
            lines.update(range(first, last + 1))
        return lines or None

    def _pools(self, targets, harvest):
        around = constants(self.analysis.tree) + harvest.constants
        patterns = patterns_of(vars(self.module))
        around_apart = separators(self.analysis.tree)
        for target in targets:
            own, apart = [], []
            node = self.analysis.functions.get(target.key)
            if target.how == "class":
                node = self.analysis.functions.get(target.key + ".__init__")
            if node is not None:
                own, apart = constants(node), separators(node)
            target.pool = Pool(own, around[:400])
            target.pool.patterns = patterns
            target.pool.separators = apart or around_apart

    def _body_lines(self):
        """Lines inside of functions."""
        lines = tracing.executable_lines(compile(self.source, self.path, "exec", dont_inherit=True))
        inside = set()
        for node in ast.walk(self.analysis.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                first = node.body[0]
                inside.update(range(first.lineno, (node.end_lineno or node.lineno) + 1))
                if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                    inside.difference_update(range(first.lineno, first.end_lineno + 1))
        return lines & inside

    def _finish(self, search, killing, kept, executable, found, started):
        reached = tracing.lines_of(search.features, self.path)
        used = {case.target for case in kept} | {defect["case"][0] for defect in found}
        text = self.source.decode("utf-8", "replace")
        self.report.send(
            "result",
            kept=[[case.data(), search.pool[case].data()] for case in kept],
            targets={t.key: _target_data(t) for t in self.analysis.targets if t.key in used},
            origin=self.names.origin,
            lines=[len(executable & reached), len(executable)],
            branches=len(search.features),
            mutants=[killing.killed, len(killing.survivors), len(killing.mutants)],
            survivors=[[m.line, m.what] for m in killing.survivors],
            refused={key: sorted(whys) for key, whys in search.refused.items()},
            unreached=sorted(executable - reached),
            clock=clock.mentioned(text) or self._package_looks_at_clock(),
            seeded=self.runner.seeded,
            missed=self.missed,
            defects=found,
            begins={target.key: target.lines[0] for target in self.analysis.targets},
            calls=self.runner.calls,
            seconds=time.process_time() - started,
        )

    def _package_looks_at_clock(self):
        for path in list(self.runner.paths)[:60]:
            try:
                with open(path, encoding="utf-8") as file:
                    if clock.mentioned(file.read()):
                        return True
            except (OSError, ValueError):
                continue
        return False


class Open:
    """Lines of each target that nothing reached yet. Asked before every call, of all targets: known until one is reached."""

    def __init__(self, search, targets, counted):
        self.search = search
        self.inside = {
            target.key: [line for line in counted if target.lines[0] <= line <= target.lines[1]] for target in targets}
        self.missing = {}
        self.seen = None

    def lines(self, target):
        if self.seen != len(self.search.features):
            self.seen = len(self.search.features)
            reached = {feature[3] for feature in self.search.features}
            self.missing = {key: sum(1 for line in lines if line not in reached) for key, lines in self.inside.items()}
        return self.missing[target.key]


def _target_data(target):
    return {
        "name": target.name, "how": target.how, "path_name": target.path_name,
        "owner": target.owner.__name__ if target.owner is not None else None,
        "gives": target.gives, "parameters": [[p.name, p.style] for p in target.parameters],
    }
