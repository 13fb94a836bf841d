"""Fixtures of a test file, its classes and its conftest files, as statements that make their values.

A fixture that statements cannot make is left out, and pieces of tests that need it do not run.
"""
import ast
import copy
import os

MAX_DEPTH = 4
# Fixtures of pytest. Others change the process, or only make sense in a run of pytest.
BUILT_IN = {
    "tmp_path": "import pathlib, tempfile\ntmp_path = pathlib.Path(tempfile.mkdtemp())",
}


class Fixtures:
    """The fixtures that some statements define."""

    def __init__(self, body):
        self.known = {}
        self.add(body)

    def add(self, body):
        for node in body:
            decorator = _decorator(node)
            if decorator is not None:
                name = next((word.value.value for word in getattr(decorator, "keywords", ())
                             if word.arg == "name" and isinstance(word.value, ast.Constant)), node.name)
                self.known[name] = (node, decorator)

    def of_class(self, kind):
        """These fixtures and those of a test class."""
        found = copy.copy(self)
        found.known = dict(self.known)
        found.add(kind.body)
        return found

    def definitions(self):
        """The functions of fixtures without their decorators, by their own names."""
        return {node.name: _plain(node) for node, _ in self.known.values()}

    def rows(self, name, depth=0):
        """How many values the tables of a fixture and of what it needs have."""
        node, decorator = self.known.get(name, (None, None))
        if node is None or depth > MAX_DEPTH:
            return 1
        return max([len(_table(decorator)), 1] + [self.rows(arg.arg, depth + 1) for arg in node.args.args])

    def statements(self, name, row, done, depth=0):
        """The statements that make a fixture and what it needs, or None. `done` has the fixtures that exist."""
        if name in done:
            return []
        if name in BUILT_IN:
            done.add(name)
            return ast.parse(BUILT_IN[name]).body
        if name not in self.known or depth > MAX_DEPTH:
            return None
        node, decorator = self.known[name]
        if isinstance(node, ast.AsyncFunctionDef) or node.args.kwonlyargs or node.args.vararg:
            return None
        parameters = [arg.arg for arg in node.args.args]
        made = []
        for parameter in parameters:
            if parameter == "self":
                continue  # the object of the test
            if parameter == "request":
                table = _table(decorator)
                if not table:
                    return None
                made += ast.parse("request = types.SimpleNamespace(param=%s)" % ast.unparse(table[row % len(table)])).body
                continue
            more = self.statements(parameter, row, done, depth + 1)
            if more is None:
                return None
            made += more
        call = "%s(%s)" % (node.name, ", ".join(parameters))
        if any(isinstance(each, ast.Yield) for each in ast.walk(node)):
            # The generator stays alive, and with it what it holds open.
            text = "%s_fixture = %s\n%s = next(%s_fixture)" % (name, call, name, name)
        else:
            text = "%s = %s" % (name, call)
        done.add(name)
        return made + ast.parse(text).body


def conftest_files(path, root):
    """The conftest files that apply to a test file, the nearest last."""
    found, folder = [], os.path.dirname(path)
    while folder.startswith(root):
        file = os.path.join(folder, "conftest.py")
        if os.path.exists(file):
            found.insert(0, file)
        if folder == root:
            break
        folder = os.path.dirname(folder)
    return found


def _decorator(node):
    """The decorator that makes a function a fixture, or None."""
    for decorator in getattr(node, "decorator_list", ()) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else ():
        function = decorator.func if isinstance(decorator, ast.Call) else decorator
        if getattr(function, "attr", getattr(function, "id", "")) in ("fixture", "yield_fixture"):
            return decorator
    return None


def _table(decorator):
    """The values of `params`, as nodes."""
    for word in getattr(decorator, "keywords", ()):
        if word.arg == "params":
            return [cell.args[0] if isinstance(cell, ast.Call) and getattr(cell.func, "attr", "") == "param" and cell.args else cell
                    for cell in getattr(word.value, "elts", ())]
    return []


def _plain(node):
    node = copy.copy(node)
    node.decorator_list = []
    return node
