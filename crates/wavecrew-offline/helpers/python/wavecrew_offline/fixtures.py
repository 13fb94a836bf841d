"""Fixtures of the project's tests: which of them stand for themselves, and what they give in the child.

Read as syntax, so that pytest is not asked: a fixture that needs `request`, parameters, a wider scope or other fixtures that
do so is not for the search.
"""
import ast
import builtins
import os
import pathlib
import shutil
import sys
import types

from . import kinds
from .names import STANDARD, place

# What pytest has by itself, and the search can stand in for.
BUILT_IN = ("tmp_path",)
# Names that generated tests use for something else.
TAKEN = ("request", "capsys", "monkeypatch", "pytest", "expected", "message", "result", "value", "subject", "collect")
LOAD_SECONDS = 8
MAKE_SECONDS = 1


def conftests(root, laid_in):
    """The files that hold for tests in a folder below the root, outermost first."""
    root = os.path.abspath(root)
    folders = [root]
    for part in os.path.normpath(laid_in or ".").split(os.sep):
        if part == os.pardir:
            return []
        if part != os.curdir:
            folders.append(os.path.join(folders[-1], part))
    paths = [os.path.join(folder, "conftest.py") for folder in folders]
    return [path for path in paths if os.path.isfile(path)]


class Read:
    """One file: its tree, and its fixtures by their names."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            self.tree = ast.parse(file.read())
        self.fixtures = {}
        for node in self.tree.body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for decorator in node.decorator_list:
                    if _is_fixture(decorator):
                        name, plain = _named(decorator, node)
                        self.fixtures[name] = node if plain and len(node.decorator_list) == 1 else None


def _is_fixture(decorator):
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    if isinstance(called, ast.Attribute):
        return called.attr == "fixture" and isinstance(called.value, ast.Name) and called.value.id == "pytest"
    return isinstance(called, ast.Name) and called.id == "fixture"


def _named(decorator, node):
    """The name of a fixture, and whether it is one for each test, made by a plain function."""
    name, args = node.name, node.args
    plain = isinstance(node, ast.FunctionDef) and not (args.vararg or args.kwarg or args.kwonlyargs or args.defaults)
    if isinstance(decorator, ast.Call):
        plain = plain and not decorator.args
        for keyword in decorator.keywords:
            value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
            if keyword.arg == "name" and isinstance(value, str):
                name = value
            elif keyword.arg != "scope" or value != "function":
                plain = False
    return name, plain


def read(paths):
    """The files that can be read, and the names of fixtures that stand for themselves."""
    files, known = [], {}
    for path in paths:
        try:
            files.append(Read(path))
        except (OSError, SyntaxError, ValueError):
            return [], {}  # pytest would not start either
        known.update(files[-1].fixtures)
    needs = {name: [arg.arg for arg in node.args.args] for name, node in known.items() if node is not None}
    changed = True
    while changed:
        fit = {name for name, wanted in needs.items()
               if all(each != name and (each in needs or each in BUILT_IN and each not in known) for each in wanted)}
        changed = len(fit) < len(needs)
        needs = {name: wanted for name, wanted in needs.items() if name in fit}
    return files, {name: wanted for name, wanted in needs.items() if name.isidentifier()}


class Fixtures:
    """The fixtures as functions, loaded in the child. Nothing is there when a file does not load."""

    def __init__(self, paths, guard):
        self.guard = guard
        self.functions = {}
        self.count = 0
        files, self.needs = read(paths)
        try:
            for file in files:
                guard.call(lambda: self._load(file), LOAD_SECONDS)
            if guard.tried is not None:
                self.needs = {}
        except BaseException:
            self.needs = {}
        if not self.needs:
            self.functions = {}

    def _load(self, file):
        name, folder = place(file.path)
        module = types.ModuleType(name)
        module.__file__, module.__package__ = file.path, name.rpartition(".")[0]
        sys.modules[name] = module
        if folder not in sys.path:
            sys.path.append(folder)
        for fixture, node in file.fixtures.items():
            if node is not None:
                node.decorator_list = []
        exec(compile(file.tree, file.path, "exec", dont_inherit=True), vars(module))
        for fixture, node in file.fixtures.items():
            if node is not None and fixture in self.needs:
                self.functions[fixture] = getattr(module, node.name)

    def given(self):
        """For one call: an object is made when it is first asked for, and is the same to the end of the call."""
        return Given(self) if self.functions else None

    def values(self, names, facts):
        """Those that give the same when they are made again, with a value and what can be said about it."""
        found = {}
        for name in sorted(self.functions):
            if name in names.namespace or name in TAKEN or name in STANDARD or hasattr(builtins, name):
                continue
            value, told = self._made(name, facts)
            if value is not None and self._made(name, facts)[1] == told:
                found[name] = value, told
        return found

    def _made(self, name, facts):
        given = self.given()
        try:
            value = self.guard.call(lambda: given[name], MAKE_SECONDS)
            told = [[place, how, text.replace(self.guard.folder, "")] for place, how, text in facts(value)]
        except BaseException:
            return None, None
        finally:
            given.finish()
        return (value, told) if self.guard.tried is None else (None, None)


class Given(dict):
    """Fixtures by name, as the names of an expression are looked up."""

    def __init__(self, fixtures):
        super().__init__()
        self.fixtures = fixtures
        self.begun = []

    def __missing__(self, name):
        if name in BUILT_IN:
            value = self._folder()
        else:
            function = self.fixtures.functions[name]
            value = function(**{each: self[each] for each in self.fixtures.needs[name]})
            if isinstance(value, types.GeneratorType):
                self.begun.append(value)
                value = next(value)
        self[name] = value
        return value

    def _folder(self):
        folder = pathlib.Path(self.fixtures.guard.folder) / "given"
        shutil.rmtree(str(folder), ignore_errors=True)
        folder.mkdir()
        return folder

    def finish(self):
        """Runs what follows the `yield` of each, the last one first."""
        for begun in reversed(self.begun):
            try:
                next(begun, None)
            except Exception:
                pass
        del self.begun[:]


def fits(name, value, parameter):
    """Whether a fixture is what a parameter asks for: by its name, and by its kind where that is known."""
    if parameter.style not in ("plain", "keyword"):
        return False
    if any(kind == ("class", type(value)) for kind, _ in parameter.kinds):
        return True
    if name != parameter.name and not name.endswith("_" + parameter.name):
        return False
    return not parameter.documented or any(same_kind(kind, value) for kind, _ in parameter.kinds)


def same_kind(kind, value):
    if kind[0] == "union":
        return any(same_kind(part, value) for part in kind[1:])
    if kind[0] == "class":
        try:
            return isinstance(value, kind[1])
        except TypeError:  # a typed dictionary
            return isinstance(value, dict)
    if kind[0] == "path":
        return isinstance(value, pathlib.PurePath)
    return kind != kinds.ANY and kind[0] == kinds.of_value(value)[0]


# Loads the project's own files for the run of the written tests, which lie outside of its folders.
PLUGIN = '''import importlib.util
import sys
import types

FILES = %r


def pytest_configure(config):
    for name, path in FILES:
        spec = importlib.util.spec_from_file_location(name, path)
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        plugin = types.ModuleType(name)
        vars(plugin).update((key, value) for key, value in vars(module).items() if not key.startswith("__"))
        config.pluginmanager.register(plugin, path)
'''
