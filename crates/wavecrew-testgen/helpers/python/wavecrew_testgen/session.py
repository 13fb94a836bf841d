"""One session of the child: analyses a module and searches it, or runs given cases once more."""
import ast
import random
import sys
import time

from . import argument_checks, clock, defects, expected_errors, module_mutants, tracing
from .cases import Case
from .classes import Classes
from .code_replacement import CodeReplacer
from .examples import Examples
from .fixtures import fixture_fits, wanted_but_unusable
from .names import Names
from .plausibility import plausible, plausible_setup
from .probes import Probes
from .run import Runner
from .search import Search
from .selection import Selection
from .targets import Analysis
from .uncovered import Uncovered
from .values import Maker, Pool, constants, patterns_of, separators
from .variation import Variation

SEARCH_SHARE = 0.45
MUTANT_SHARE = 0.95
PRIVATE_SHARE = 0.1
EXTENDED_SHARE = 0.7
EXAMPLE_SHARE = 0.08
CALL_SHARE = 0.04
SETUP_SHARE = 0.15


def report_failure(report, why):
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
        self.wanted_fixtures = {}
        self.runner = Runner(
            self.names, guard, tracer, {t.key: t for t in targets}, paths + [self.path], seeded, self.fixtures,
            b"round(" in self.source)
        # Read now, because a large file takes longer than a call may.
        self.runner.raises[self.path] = argument_checks.lines_in(self.analysis.tree)
        self.runner.seconds = min(0.3, max(0.05, request["seconds"] * CALL_SHARE))

    def run(self):
        params = self.fixtures.param_sources(self.runner.facts.source)
        if self.request["mode"] == "fixtures":
            self._report_fixtures(params)
            return
        self.fixtures.set_autouse(self.request["autouse"])
        if self.request["mode"] == "check":
            self._check()
        else:
            self._search()

    def _report_fixtures(self, params):
        autouse, problems = self.fixtures.try_autouse()
        self.fixtures.set_autouse(autouse)
        made = self.fixtures.values(self.fixtures.usable_names(self.names), self.runner.facts.of)
        self.report.send(
            "done", fixtures={name: facts for name, (_, facts) in made.items()}, autouse=autouse, problems=problems,
            params=params, failure=self.fixtures.failure, unusable_fixtures=self.fixtures.problems)

    # -- checking ----------------------------------------------------------------------------------------------------

    def _check(self):
        """Runs given cases once, in order."""
        is_confirmation = "call_seconds" in self.request
        if is_confirmation:
            self.runner.seconds = self.request["call_seconds"]
            examples = Examples(self.analysis.targets, self.names, self.request["module"])
            examples.read_docstrings(self.module, self.analysis.targets)
            examples.teach_kinds(self.runner.targets, self.runner.evaluate)
        for kind in self.request.get("importable", ()):
            home, name = kind
            found = getattr(sys.modules.get(home), name, None)
            if found is not None:
                self.names.make_importable(found)
        for number, data in self.request["cases"]:
            case = Case.of(data)
            if case.target not in self.runner.targets:
                continue
            if is_confirmation:
                is_plausible = self._is_plausible(case)
                self.report.send("tries", plausible=is_plausible)
                if not is_plausible:
                    continue
            self.report.record_call(case)
            began = time.process_time()
            outcome = self.runner.run(case, traced=False)
            self.report.send("outcome", number=number, outcome=outcome.data(), seconds=time.process_time() - began)
        self.report.send("done")

    def _is_plausible(self, case):
        targets = self.runner.targets
        if not targets[case.target].offered or self._calls_back(case) or expected_errors.may_take_long(case):
            return False
        return plausible(case, targets[case.target], True) and plausible_setup(case, targets)

    def _calls_back(self, case):
        """Whether a function of the caller is among the arguments: then it may be what does not end."""
        try:
            return any(callable(self.runner.evaluate(source)) for source in expected_errors.sources(case))
        except Exception:
            return False

    # -- searching ---------------------------------------------------------------------------------------------------

    def _search(self):
        request = self.request
        rng = random.Random(request["seed"])
        started = time.process_time()
        targets = self._public_targets()
        if not targets:
            self.report.send("dropped", why="has no function or class to call")
            return
        usable_fixtures = self._usable_fixtures()
        examples = Examples(targets, self.names, request["module"], usable_fixtures)
        examples.read_docstrings(self.module, targets)
        remaining_before = self.report.remaining_seconds()
        examples.read_project(
            request["example_root"], self.path, lambda: remaining_before - self.report.remaining_seconds() > request["seconds"] * EXAMPLE_SHARE)
        examples.teach_kinds(self.runner.targets, self.runner.evaluate)
        self._collect_constants(self.analysis.targets, examples)
        classes = Classes(self.names, self.analysis)
        for name, value in usable_fixtures.items():
            classes.fixtures.setdefault(type(value), []).append(name)
        maker = Maker(rng, self.names, classes)
        functions = list(self.analysis.functions.values())
        replacer = CodeReplacer(self.path, self.analysis.tree)
        probes = Probes(replacer, functions)
        search = Search(
            self.runner, targets, classes, maker, Variation(rng, targets[0].pool), rng, probes, self.report)
        if self.report.used_share() > SETUP_SHARE:
            self.report.restart()  # a large module took long to analyse, and still needs its search time
        search.features |= self.import_features
        search.excluded = {Case.of(data).key() for data in request["excluded"]}
        self.report.set_limit(SEARCH_SHARE)
        search.try_cases([Case.of(data) for data in request["corpus"]])
        search.try_fixtures_first()
        search.call_each(targets)
        search.try_cases(examples.cases, examples=True)
        executable = self._body_lines()

        wanted = self._feedback_lines()
        counted = executable if wanted is None else executable & wanted
        open_lines = Uncovered(search, self.analysis.targets, counted).lines
        search.explore(open_lines)
        self._search_private_targets(search, executable, open_lines)
        self._extend_search(search, open_lines)
        self.report.send("phase", name="search", seconds=time.process_time() - started, calls=self.runner.calls)
        self.report.set_limit(MUTANT_SHARE)
        finder = defects.DefectFinder(search, examples, self.names, self.analysis)
        finder.run()
        selection = Selection(search, replacer, functions, self.path, wanted)
        reached = tracing.lines_of(self.import_features, self.path)
        loading = module_mutants.find_module_mutants(self.analysis.tree, functions, reached)
        kept = selection.run((module_mutants.ModuleCopies(self.module, self.runner, request["packages"]), loading))
        kept = [case for case in kept if not finder.shows_defect(case, search.pool[case])]
        self._finish(search, selection, kept, executable, finder, started)

    def _usable_fixtures(self):
        """The fixtures with the same value as in another process, by name. Records in parameters which of them fit."""
        known = self.request["fixtures"]
        made = self.fixtures.values([name for name in sorted(known) if name in self.fixtures.functions], self.runner.facts.of)
        usable_fixtures = {name: value for name, (value, facts) in made.items() if known.get(name) == facts}
        problems = {name: "has another value in another process" for name in made if name not in usable_fixtures}
        self.wanted_fixtures = wanted_but_unusable(dict(self.request["unusable_fixtures"], **problems), self.analysis.targets)
        for target in self.analysis.targets:
            for parameter in target.parameters:
                parameter.fixtures = [name for name, value in usable_fixtures.items() if fixture_fits(name, value, parameter)]
        return usable_fixtures

    def _public_targets(self):
        """Public targets, or all targets of a private module."""
        abandoned = self.request["abandoned"]  # targets that crashed the process repeatedly
        targets = [target for target in self.analysis.targets if target.key not in abandoned]
        return [target for target in targets if target.public] or targets

    def _search_private_targets(self, search, executable, open_lines):
        """Calls private functions directly when no public call reaches parts of them."""
        missing = [
            target for target in self.analysis.targets
            if target.key not in search.targets and target.key not in self.request["abandoned"] and open_lines(target)
        ]
        if not missing:
            return
        self.report.set_limit(SEARCH_SHARE + PRIVATE_SHARE)
        search.add_targets(missing)
        search.explore(open_lines)

    def _extend_search(self, search, open_lines):
        """Searches longer for unreached lines, because their mutants cannot be killed."""
        missing = [target for target in search.targets.values() if open_lines(target)]
        if missing:
            for target in missing:
                search.stale[target.key] = 0
            self.report.set_limit(EXTENDED_SHARE)
            for target in missing:
                search.sweep(target)
            search.explore(open_lines)

    def _feedback_lines(self):
        """The lines that the previous round left open, or None in the first round."""
        feedback = self.request.get("feedback") or {}
        lines = set(feedback.get("survivors") or ())
        for first, last in feedback.get("uncovered") or ():
            lines.update(range(first, last + 1))
        return lines or None

    def _collect_constants(self, targets, examples):
        module_constants = constants(self.analysis.tree) + examples.constants
        patterns = patterns_of(vars(self.module))
        module_separators = separators(self.analysis.tree)
        for target in targets:
            own_constants, own_separators = [], []
            node = self.analysis.functions.get(target.key)
            if target.how == "class":
                node = self.analysis.functions.get(target.key + ".__init__")
            if node is not None:
                own_constants, own_separators = constants(node), separators(node)
            target.pool = Pool(own_constants, module_constants[:400])
            target.pool.patterns = patterns
            target.pool.separators = own_separators or module_separators

    def _body_lines(self):
        """Lines inside functions."""
        lines = tracing.executable_lines(compile(self.source, self.path, "exec", dont_inherit=True))
        inside = set()
        for node in ast.walk(self.analysis.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                first = node.body[0]
                inside.update(range(first.lineno, (node.end_lineno or node.lineno) + 1))
                if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                    inside.difference_update(range(first.lineno, first.end_lineno + 1))
        return lines & inside

    def _finish(self, search, selection, kept, executable, finder, started):
        found = finder.found
        features = set(self.import_features).union(*(outcome.features for outcome in search.pool.values()))
        reached = tracing.lines_of(features, self.path)
        used = {case.target for case in kept} | {defect["case"][0] for defect in found}
        text = self.source.decode("utf-8", "replace")
        self.report.send(
            "result",
            kept=[[case.data(), search.pool[case].data()] for case in kept],
            targets={t.key: _target_data(t) for t in self.analysis.targets if t.key in used},
            origin=self.names.origin,
            lines=[len(executable & reached), len(executable)],
            branches=len(search.features),
            mutants=[selection.killed, len(selection.survivors), len(selection.mutants)],
            survivors=[[m.line, m.what] for m in selection.survivors],
            refused={key: sorted(whys) for key, whys in search.refused.items()},
            unreached=sorted(executable - reached),
            clock=clock.reads_clock(text) or self._package_reads_clock(),
            wanted_fixtures=self.wanted_fixtures,
            defects=found,
            notes=finder.notes[:defects.MAX_NOTES],
            begins={target.key: target.lines[0] for target in self.analysis.targets},
            calls=self.runner.calls,
            seconds=time.process_time() - started,
        )

    def _package_reads_clock(self):
        for path in list(self.runner.paths)[:60]:
            try:
                with open(path, encoding="utf-8") as file:
                    if clock.reads_clock(file.read()):
                        return True
            except (OSError, ValueError):
                continue
        return False


def _target_data(target):
    return {
        "name": target.name, "how": target.how, "qualified_name": target.qualified_name,
        "owner": target.owner.__name__ if target.owner is not None else None,
        "returns_value": target.returns_value, "parameters": [[p.name, p.style] for p in target.parameters],
    }
