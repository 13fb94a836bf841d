"""Faults outside of function bodies, and in functions that run while the module loads: they need the module loaded anew."""
import ast
import builtins
import types

from . import mutants as planting
from .names import Names
from .run import Runner
from .process_state import put_back

LOAD_SECONDS = 2


def wanted(tree, functions, import_lines):
    """Mutants of module and class level, of defaults, and of functions that the import runs."""
    found = []
    skipped = planting.docstrings(tree) | planting.annotations(tree, decorators=False)
    inside = {}
    for function in functions:
        runs = any(line in import_lines for line in range(function.body[0].lineno, (function.end_lineno or 0) + 1))
        if not runs:
            for statement in function.body:
                for node in ast.walk(statement):
                    inside[id(node)] = True
    imports = {id(part) for node in ast.walk(tree) if _boring(node) for part in ast.walk(node)}
    for node, parent, place in planting.places(tree):
        if id(node) in inside or id(node) in skipped or id(node) in imports:
            continue
        for what, change in planting.changes(node):
            found.append(planting.Mutant(what, tree, node, parent, place, change))
    return found


def _boring(node):
    """Code that says what is exported or who starts it."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return True
    if isinstance(node, ast.If) and any(word in ast.dump(node.test) for word in ("'__name__'", "'TYPE_CHECKING'")):
        return True
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Name) and target.id.startswith("__") for target in node.targets)
    return False


class Reloaded:
    """Runs cases on a copy of the module made from another syntax tree."""

    def __init__(self, module, runner, packages):
        self.module = module
        self.runner = runner
        self.packages = packages
        self.builtins = dict(vars(builtins))

    def load(self, tree):
        """A runner for the copy, or nothing where it does not load."""
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
            put_back(self.builtins)
        names = Names(copied, self.packages)
        for name, value in self.runner.namespace.items():
            names.namespace.setdefault(name, value)
        old = self.runner
        made = Runner(names, old.guard, old.tracer, old.targets, old.paths, old.seeded, old.fixtures)
        made.seconds, made.raises = old.seconds, old.raises
        return made


def judge(killing, reloaded, found, cases):
    """Adds to what is kept the cases that notice these faults; stops when time is up."""
    pool = killing.search.pool
    control = reloaded.load(found[0].function) if found else None
    if control is None:
        return
    # A case that a mere copy of the module answers differently says nothing about faults.
    fit = [case for case in cases if control.run(case, traced=False).same(pool[case])]
    for mutant in found:
        if killing.report.late():
            return
        try:
            with planting.Planted(mutant) as tree:
                runner = reloaded.load(tree)
        except (TypeError, ValueError, AttributeError, RecursionError):
            continue
        if runner is None:
            killing.killed += 1
            continue
        killer = None
        for case in fit:
            killing.report.beat(case)
            if pool[case].noticed(runner.run(case, traced=False, like=pool[case])):
                killer = case
                break
        if killer is None:
            killing.survivors.append(mutant)
        else:
            killing.killed += 1
            if killer not in killing.kept:
                killing.kept.append(killer)
                fit.remove(killer)
                fit.insert(0, killer)
