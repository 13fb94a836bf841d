"""Measures a generated test file independently of its generator: coverage.py, pytest, other mutants.

    measure.py MODULE SOURCE ROOT TESTS... prints one JSON object.
"""
import ast
import copy
import importlib.abc
import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

MUTANTS = int(os.environ.get("SCOREBOARD_MUTANTS", "80"))
SHUFFLES = int(os.environ.get("SCOREBOARD_SHUFFLES", "20"))
SECONDS = 4

SWAPS = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Add: ast.Sub, ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Add, ast.Pow: ast.Mult,
    ast.And: ast.Or, ast.Or: ast.And, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}


def sites(tree):
    """Every mutation site, as (path to the node, kind of change)."""
    found = []

    def walk(node, path, inside):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body
            first = body[0]
            documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            for index, each in enumerate(body):
                if not (documented and index == 0):
                    walk(each, path + [("body", index)], True)
            return
        if inside:
            if isinstance(node, ast.Compare):
                found.extend((path, "compare", index) for index, op in enumerate(node.ops) if type(op) in SWAPS)
            elif isinstance(node, (ast.BinOp, ast.AugAssign, ast.BoolOp)) and type(node.op) in SWAPS:
                found.append((path, "operator", 0))
            elif isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float, str)):
                found.append((path, "constant", 0))
            elif isinstance(node, ast.Return) and node.value is not None:
                found.append((path, "return", 0))
            elif isinstance(node, (ast.If, ast.While)):
                found.append((path, "condition", 0))
            elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
                found.append((path, "not", 0))
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                found.append((path, "statement", 0))
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list"):
                continue
            if isinstance(value, list):
                for index, each in enumerate(value):
                    if isinstance(each, ast.AST):
                        walk(each, path + [(field, index)], inside)
            elif isinstance(value, ast.AST):
                walk(value, path + [(field, None)], inside)

    walk(tree, [], False)
    return found


def mutant(tree, site):
    tree = copy.deepcopy(tree)
    path, kind, index = site
    parent, node, last = None, tree, None
    for step in path:
        parent, last = node, step
        node = getattr(node, step[0])
        if step[1] is not None:
            node = node[step[1]]
    new = None
    if kind == "compare":
        node.ops[index] = SWAPS[type(node.ops[index])]()
    elif kind == "operator":
        node.op = SWAPS[type(node.op)]()
    elif kind == "constant":
        value = node.value
        node.value = not value if isinstance(value, bool) else value + 1 if not isinstance(value, str) else value + "?"
    elif kind == "return":
        node.value = ast.Constant(None)
    elif kind == "condition":
        node.test = ast.UnaryOp(ast.Not(), node.test)
    elif kind == "not":
        new = node.operand
    elif kind == "statement":
        new = ast.Pass()
    if new is not None:
        ast.copy_location(new, node)
        if last[1] is None:
            setattr(parent, last[0], new)
        else:
            getattr(parent, last[0])[last[1]] = new
    return ast.fix_missing_locations(tree), getattr(node, "lineno", 0)


class Planted(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    def __init__(self, name, path, code):
        self.name, self.path, self.code = name, path, code

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        locations = [os.path.dirname(self.path)] if os.path.basename(self.path) == "__init__.py" else None
        spec = importlib.util.spec_from_file_location(name, self.path, loader=self, submodule_search_locations=locations)
        return spec

    def get_source(self, name):
        return None

    def is_package(self, name):
        return os.path.basename(self.path) == "__init__.py"

    def get_code(self, name):
        return self.code

    def exec_module(self, module):
        exec(self.code, vars(module))


class Shuffle:
    def __init__(self, seed):
        self.seed = seed

    def pytest_collection_modifyitems(self, items):
        random.Random(self.seed).shuffle(items)


def in_child(work):
    """Runs `work` in a forked child; its exit code, or None after a while."""
    child = os.fork()
    if child == 0:
        code = 9
        try:
            nowhere = os.open(os.devnull, os.O_RDWR)
            for each in (0, 1, 2):
                os.dup2(nowhere, each)
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            code = work()
        finally:
            os._exit(int(code))
    begun = time.monotonic()
    while time.monotonic() - begun < SECONDS * 30:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def pytest_run(tests, plugins=(), stop=True):
    import pytest

    args = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--noconftest", "-c", os.devnull, "--rootdir", "/"]
    return pytest.main(args + (["-x"] if stop else []) + tests, plugins=list(plugins))


def covered(name, source, root, tests, folder):
    env = dict(os.environ, PYTHONPATH=root, COVERAGE_FILE=os.path.join(folder, "data"), PYTHONDONTWRITEBYTECODE="1")
    run = [sys.executable, "-m", "coverage", "run", "--branch", "--include=" + source, "-m", "pytest", "-q", "-p",
           "no:cacheprovider", "-p", "no:randomly", "--noconftest", "-c", os.devnull, "--rootdir", "/"]
    subprocess.run(run + tests, env=env, stdout=subprocess.DEVNULL, cwd=folder)
    report = os.path.join(folder, "c.json")
    subprocess.run([sys.executable, "-m", "coverage", "json", "-q", "-o", report], env=env, cwd=folder)
    try:
        with open(report) as file:
            data = list(json.load(file)["files"].values())[0]
    except (OSError, IndexError):
        return {"line": 0.0, "branch": 0.0}
    summary = data["summary"]
    return {
        "line": 100.0 * summary["covered_lines"] / max(summary["num_statements"], 1),
        "branch": 100.0 * summary["covered_branches"] / summary["num_branches"] if summary["num_branches"] else 100.0,
        "missing": data["missing_lines"], "missing_branches": data.get("missing_branches", []),
    }


def main():
    name, source, root, tests = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    sys.path.insert(0, root)
    sys.dont_write_bytecode = True
    import pytest  # noqa: F401  warm before forking

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        result = covered(name, source, root, tests, folder)
        passes = sum(
            in_child(lambda: pytest_run(tests, [Shuffle(seed)], stop=False)) == 0 for seed in range(SHUFFLES))
        with open(source, "rb") as file:
            tree = ast.parse(file.read())
        places = sites(tree)
        random.Random(7).shuffle(places)
        killed, survivors = 0, []
        for place in places[:MUTANTS]:
            changed, line = mutant(tree, place)

            def work():
                sys.meta_path.insert(0, Planted(name, source, compile(changed, source, "exec")))
                return pytest_run(tests)

            if in_child(work) == 0:
                survivors.append([line, place[1]])
            else:
                killed += 1
        tried = len(places[:MUTANTS])
        result.update(kills=100.0 * killed / tried if tried else 100.0, mutants=tried, survivors=survivors,
                      passes=passes, shuffles=SHUFFLES)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
