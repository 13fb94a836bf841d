"""A session that compares two versions of a module. The search runs in the new one, and asks the old one for each case.

Modes: `search` (the new version), `peer` (the old version), `check` (given cases in a new process of either version).
"""
import ast
import random
import sys
import time

from . import diff_compare, patterns, peer, snippet_options, snippets
from .cases import Case
from .classes import Classes
from .code_replacement import CodeReplacer
from .diff_search import DiffSearch
from .examples import Examples
from .probes import Probes
from .session import Session
from .values import Maker, constants
from .variation import Variation

EXAMPLE_SHARE = 0.08
EDGES_UNTIL = 0.5  # of the time
REDUCE_FROM = 0.8  # of the time; the rest is for smaller inputs
CHANGED_WEIGHT = 8
MATCHING = 4  # texts for each changed pattern
LOADS = 1.2  # time for confirming, in loading times: fewer files are read then, and two processes load side by side
LEAST_SECONDS = 1.0
LEAST_SHARE = 0.4  # of what is left after loading


class DiffSession(Session):
    def __init__(self, request, module, guard, report, tracer, import_features, fixtures):
        super().__init__(request, module, guard, report, tracer, import_features, fixtures)
        self.roots = dict.fromkeys((request["root"], request["diff"]["new_root"]))
        self.tracer = tracer
        self.changed = {one["path"]: one for one in request["diff"]["changed"]}
        self.snippets = snippets.Snippets(request, guard, lambda: report.record_call(Case("", ())))
        self.runner.trace_setup = True

    def run(self):
        self.fixtures.set_autouse(self.request["autouse"])
        {"search": self._search, "peer": self._serve, "check": self._check}[self.request["mode"]]()

    def observe(self, case, traced=True):
        """What a case does here: the data of its outcome, what it reached of changed files, how many lines ran."""
        if self._target(case.target) is None:
            return ["refused", [], "{}", None, False, None, False], frozenset(), 0  # this version has none
        outcome = self.runner.run(case, traced)
        return self.observed(outcome)

    def _target(self, key):
        """The target of a key. Pieces with one more option are made when they are needed."""
        target = self.runner.targets.get(key)
        if target is None:
            target = snippet_options.derived(key, self.runner.targets)
            if target is not None:
                self.runner.targets[key] = target
        return target

    def observed(self, outcome):
        features = frozenset(
            (self.changed[feature[0]]["file"],) + feature[1:] for feature in outcome.features if feature[0] in self.changed)
        data = diff_compare.normal(outcome.data(), self.roots)
        if outcome.how == "refused" and outcome.why != self.runner.guard.refused:
            data[3] = None  # something else than the sandbox refused it
        return data, features, self.tracer.steps

    def is_loaded(self, path):
        """Whether a file is a module of this process."""
        return any(getattr(module, "__file__", None) == path for module in list(sys.modules.values()))

    def _serve(self):
        self._make_snippets(self.request["diff"]["snippets"])
        peer.serve(self, self.request["diff"]["peer"])
        self.report.send("done")

    def _check(self):
        self._make_snippets(self.request["diff"]["snippets"])
        self.runner.seconds = self.request["call_seconds"]
        for home, name in self.request.get("importable", ()):
            found = getattr(sys.modules.get(home), name, None)
            if found is not None:
                self.names.make_importable(found)
        for number, data in self.request["cases"]:
            case = Case.of(data)
            self.report.record_call(case)
            began = time.process_time()
            outcome, _, steps = self.observe(case)
            self.report.send("outcome", number=number, outcome=outcome, steps=steps, seconds=time.process_time() - began)
        self.report.send("done")

    def _make_snippets(self, files):
        for target in self._attributes() + self.snippets.load(files):
            self.runner.targets[target.key] = target

    def _attributes(self):
        """Reads of the module's own constants that changed."""
        one = self.changed.get(self.path)
        if one is None:
            return []
        return self.snippets.of_attributes(self.module, self.request["diff"]["constants"], one["file"], self.analysis.tree)

    # -- searching ---------------------------------------------------------------------------------------------------

    def _search(self):
        request = self.request
        old = peer.Peer(request["diff"]["peer"])
        try:
            self._search_with(old)
        except peer.PeerGone as error:
            self.report.send("dropped", why="old version: %s" % error)

    def _search_with(self, old):
        request = self.request
        rng = random.Random(request["seed"])
        targets = [target for target in self.analysis.targets if target.key not in request["abandoned"]]
        examples = Examples(targets, self.names, request["module"])
        examples.read_docstrings(self.module, targets)
        before = self.report.remaining_seconds()
        examples.read_project(
            request["example_root"], self.path,
            lambda: before - self.report.remaining_seconds() > request["seconds"] * EXAMPLE_SHARE)
        examples.teach_kinds(self.runner.targets, self.runner.evaluate)
        self._collect_constants(targets, examples)
        aimed = self._changed_constants(rng)
        for target in targets:
            for value in aimed:
                target.pool.add(value, CHANGED_WEIGHT)
            target.pool._characters()
        self._make_snippets(request["diff"]["snippets"])
        snippet_targets = [target for target in self.runner.targets.values() if target.how == "snippet"]
        for target in snippet_targets:
            target.pool = snippets.pool_for(target, aimed)
        classes = Classes(self.names, self.analysis)
        maker = Maker(rng, self.names, classes)
        replacer = CodeReplacer(self.path, self.analysis.tree)
        probes = Probes(replacer, list(self.analysis.functions.values()))
        everything = targets + snippet_targets
        if not everything:
            old.wait_until_ready()
            self.report.send("dropped", why="has no function or class to call, and no test or example uses it")
            return
        search = DiffSearch(
            self.runner, everything, classes, maker, Variation(rng, everything[0].pool), rng, probes, self.report)
        search.excluded = {Case.of(data).key() for data in request["excluded"]}
        old.wait_until_ready()  # both versions load their snippets side by side
        search.compare(self, old, request["diff"])
        if self.report.used_share() > 0.15:
            self.report.restart(wall_seconds=self._wall_seconds())
        self.report.set_limit(REDUCE_FROM)
        search.try_cases([Case.of(data) for data in request["corpus"]])
        search.try_cases([Case(target.key, target.literals) for target in snippet_targets])
        search.try_cases(examples.cases)
        self.report.set_limit(EDGES_UNTIL)
        search.try_edges(aimed)
        search.try_options(aimed)
        self.report.set_limit(REDUCE_FROM)
        search.explore_difference()
        search.stretch()
        self.report.set_limit(1.0)
        search.reduce()
        self.report.send(
            "result", differences=search.found(), calls=search.compared, origin=self.names.origin,
            reached=search.reached_lines(), same=search.unchanged(),
            targets={target.key: target_data(target) for target in search.targets.values()},
            refused=search.all_refused())

    def _wall_seconds(self):
        """Wall time for the search: more processes must load the module later, to confirm what it finds."""
        loading = time.monotonic() - self.report.created
        longest = self.request["longest"]
        left = min(self.request["wall_seconds"], longest - LOADS * loading) - loading
        return max(LEAST_SECONDS, LEAST_SHARE * (longest - loading), left)

    def _changed_constants(self, rng):
        """Constants on changed lines of both versions, and their neighbours. For a pattern, also texts that match it."""
        found = []
        for one in self.request["diff"]["changed"]:
            for path, ranges in ((one["path"], one["new_lines"]), (one["old_path"], one["old_lines"])):
                lines = {line for first, last in ranges for line in range(first, last + 1)}
                try:
                    with open(path, "rb") as file:
                        tree = ast.parse(file.read())
                except (OSError, SyntaxError, ValueError):
                    continue
                for node in ast.walk(tree):
                    if isinstance(node, ast.expr) and lines.intersection(range(node.lineno, (node.end_lineno or node.lineno) + 1)):
                        if isinstance(node, ast.Constant):
                            found.extend(constants(ast.Expression(node)))
        numbers = [value for value in found if isinstance(value, (int, float))]
        texts = [value for value in dict.fromkeys(found) if isinstance(value, str)]
        matching = [text for value in texts if patterns.looks_like_regex(value) for text in patterns.matches(value, rng, MATCHING)]
        return list(dict.fromkeys(found + [value + away for value in numbers for away in (-1, 1)] + matching))[:200]


def target_data(target):
    from .session import _target_data

    data = _target_data(target)
    data["lines"] = target.lines
    data["public"] = target.public
    return data
