"""Mutants outside of function bodies, and in functions that run during import: they need a new copy of the module."""
import ast
import builtins
import types

from . import patterns
from .literals import constants_in
from .mutants import Applied, Mutant, annotations, changes, docstrings, nodes_with_parents
from .names import Names
from .process_state import restore_builtins
from .run import Runner

LOAD_SECONDS = 2
VALUES_PER_LINE = 12
TARGETS_PER_LINE = 8


def find_module_mutants(tree, functions, import_lines):
    """Mutants of module and class level, of defaults, and of functions that run during import."""
    found = []
    skipped = docstrings(tree) | annotations(tree, decorators=False)
    inside = {}
    for function in functions:
        runs = any(line in import_lines for line in range(function.body[0].lineno, (function.end_lineno or 0) + 1))
        if not runs:
            for statement in function.body:
                for node in ast.walk(statement):
                    inside[id(node)] = True
    imports = {id(part) for node in ast.walk(tree) if _is_irrelevant(node) for part in ast.walk(node)}
    for node, parent, place in nodes_with_parents(tree):
        if id(node) in inside or id(node) in skipped or id(node) in imports:
            continue
        for what, change in changes(node):
            found.append(Mutant(what, tree, node, parent, place, change))
    return found


def _is_irrelevant(node):
    """Imports, `__all__` and the like, and code for running as a program."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return True
    if isinstance(node, ast.If) and any(word in ast.dump(node.test) for word in ("'__name__'", "'TYPE_CHECKING'")):
        return True
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Name) and target.id.startswith("__") for target in node.targets)
    return False


class ModuleCopies:
    """Copies of the module, made from changed syntax trees."""

    def __init__(self, module, runner, packages):
        self.module = module
        self.runner = runner
        self.packages = packages
        self.builtins = dict(vars(builtins))

    def load_copy(self, tree):
        """A runner for a copy, or None when it does not load."""
        copied = types.ModuleType(self.module.__name__)
        for name in ("__file__", "__package__", "__spec__", "__path__", "__loader__"):
            if hasattr(self.module, name):
                setattr(copied, name, getattr(self.module, name))
        try:
            code = compile(tree, self.module.__file__, "exec", dont_inherit=True)
            self.runner.guard.call(lambda: exec(code, vars(copied)), LOAD_SECONDS)
        except BaseException:
            return None
        finally:
            restore_builtins(self.builtins)
        names = Names(copied, self.packages)
        for name, value in self.runner.namespace.items():
            names.namespace.setdefault(name, value)
        old = self.runner
        made = Runner(names, old.guard, old.tracer, old.targets, old.paths, old.seeded, old.fixtures)
        made.seconds, made.raises = old.seconds, old.raises
        return made


def run_module_mutants(selection, copies, found, cases):
    """Runs module mutants and keeps the cases that kill them, until time is up."""
    pool = selection.search.pool
    control = copies.load_copy(found[0].function) if found else None
    if control is None:
        return
    # A case with another outcome on an unchanged copy proves nothing about mutants.
    fitting = [case for case in cases if control.run(case, traced=False).same(pool[case])]
    table = _Table(found[0].function, selection.search, fitting)
    for mutant in found:
        if selection.report.is_late():
            return
        try:
            with Applied(mutant) as tree:
                runner = copies.load_copy(tree)
        except (TypeError, ValueError, AttributeError, RecursionError):
            continue
        if runner is None:
            selection.killed += 1
            continue
        killer = _first_killer(selection, runner, fitting) or _killer_from_table(selection, runner, table, mutant.line)
        if killer is None:
            selection.survivors.append(mutant)
            continue
        selection.killed += 1
        if killer not in selection.kept:
            selection.kept.append(killer)
        if killer in fitting:
            fitting.remove(killer)
        fitting.insert(0, killer)


def _first_killer(selection, runner, cases):
    pool = selection.search.pool
    for case in cases:
        selection.report.record_call(case)
        if pool[case].test_fails_on(runner.run(case, traced=False, like=pool[case])):
            return case
    return None


class _Table:
    """The constants of a module by line, and calls in which they may stand for an argument."""

    def __init__(self, tree, search, cases):
        self.by_line = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, (str, int, float)) and not isinstance(node.value, bool):
                self.by_line.setdefault(node.lineno, []).append(node.value)
        self.rng = search.rng
        self.calls = {}  # by target: a call with one literal argument that can be replaced
        # The most direct call of a table is the one that runs the least code.
        for case in sorted(cases, key=lambda case: len(search.pool[case].features)):
            if case.target not in self.calls and search.targets[case.target].public:
                self.calls[case.target] = case

    def values(self, line):
        """The constants of a line, and texts that its regular expressions match."""
        found = []
        for value in self.by_line.get(line, ()):
            if isinstance(value, str) and patterns.looks_like_regex(value):
                found.extend(patterns.matches(value, self.rng, 3))
            else:
                found.append(value)
        return list(dict.fromkeys(found))[:VALUES_PER_LINE]

    def cases(self, line):
        for value in self.values(line):
            for case in list(self.calls.values())[:TARGETS_PER_LINE]:
                changed = _with_value(case, value)
                if changed is not None and changed.key() != case.key():
                    yield changed

    def promote(self, case):
        """Tries the target of a case first from now on: it reads the table."""
        if case.target in self.calls:
            self.calls = {case.target: self.calls.pop(case.target), **self.calls}


def _with_value(case, value):
    """The case with `value` instead of the first literal of its type."""
    for index, (name, source) in enumerate(case.args):
        for start, end, old in constants_in(source):
            if type(old) is type(value):
                raw = source.encode()
                text = (raw[:start] + repr(value).encode() + raw[end:]).decode()
                return case.with_args(case.args[:index] + ((name, text),) + case.args[index + 1:])
    return None


def _killer_from_table(selection, runner, table, line):
    """A new case that kills a mutant of a table's row, with the values of this row as its input."""
    search = selection.search
    for case in table.cases(line):
        if selection.report.is_late():
            return None
        if case.key() in search.excluded or case in search.pool:
            continue
        selection.report.record_call(case)
        outcome = search.runner.run(case)
        if outcome.how != "returns" or not outcome.test_fails_on(runner.run(case, traced=False, like=outcome)):
            continue
        if search.runner.run(case, traced=False).same(outcome):
            selection.add_case(case, outcome)
            table.promote(case)
            return case
    return None
