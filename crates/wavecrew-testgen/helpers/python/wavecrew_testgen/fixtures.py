"""Fixtures of the project's tests, read as syntax: which of them the search can make as pytest would, and why not the others.

Only those of `conftest.py` files: what a test module defines is there for its own tests alone.
"""
import ast
import importlib.util
import os
import pathlib

from . import type_hints
from .naming import snake

# What pytest has by itself, and the search can stand in for.
BUILT_IN = ("tmp_path", "tmp_path_factory", "monkeypatch", "request")
# Those of them that live longer than a test, or as long as who asks.
OF_ANY_SCOPE = ("tmp_path_factory", "request")
SCOPES = ("session", "package", "module", "class", "function")
ASYNC_PLUGIN = "pytest_asyncio"


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


class Fixture:
    """One definition. `trouble` says why the search cannot use it, or is nothing."""

    def __init__(self, decorator, node):
        self.node = node
        self.name = node.name
        self.scope = "function"
        self.autouse = False
        self.params = None
        self.depth = 0  # of its file
        self.trouble = None
        args = node.args
        self.needs = [arg.arg for arg in args.args]
        self.asynchronous = isinstance(node, ast.AsyncFunctionDef)
        if args.vararg or args.kwarg or args.kwonlyargs or args.defaults:
            self.trouble = "has parameters that are no fixtures"
        if len(node.decorator_list) > 1:
            self.trouble = "has another decorator"
        if isinstance(decorator, ast.Call):
            self._options(decorator)
        if self.asynchronous and not (_home(decorator) == ASYNC_PLUGIN and importlib.util.find_spec(ASYNC_PLUGIN)):
            self.trouble = "is asynchronous, and not one of pytest-asyncio"
        if self.needs.count(self.name):
            self.trouble = "asks for one of the same name"
        if not self.name.isidentifier():
            self.trouble = "has a name that no parameter can have"

    def _options(self, decorator):
        if decorator.args:
            self.trouble = "has options without names"
        for keyword in decorator.keywords:
            value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
            if keyword.arg == "name" and isinstance(value, str):
                self.name = value
            elif keyword.arg == "scope" and value in SCOPES:
                self.scope = value
            elif keyword.arg == "autouse" and isinstance(value, bool):
                self.autouse = value
            elif keyword.arg == "params":
                self.params = keyword.value
            elif keyword.arg not in ("ids", "loop_scope"):
                self.trouble = "has the option %s, which is not written down" % keyword.arg

    @property
    def shared(self):
        """Whether tests get the same object."""
        return self.scope != "function"


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
                    if _home(decorator) is not None:
                        fixture = Fixture(decorator, node)
                        self.fixtures[fixture.name] = fixture


def _home(decorator):
    """The module of pytest or its plugin that a decorator for fixtures comes from, or nothing."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.attr == "fixture":
        return called.value.id if called.value.id in ("pytest", ASYNC_PLUGIN) else None
    return "pytest" if isinstance(called, ast.Name) and called.id == "fixture" else None


def read(paths):
    """The files, and all fixtures by name as tests below the last file see them. Nothing where a file cannot be read."""
    files, known, automatic = [], {}, set()
    for depth, path in enumerate(paths):
        try:
            files.append(Read(path))
        except (OSError, SyntaxError, ValueError):
            return [], {}  # pytest would not start either
        for fixture in files[-1].fixtures.values():
            fixture.depth = depth
        known.update(files[-1].fixtures)
        automatic.update(name for name, fixture in files[-1].fixtures.items() if fixture.autouse)
    for name in automatic:
        known[name].autouse = True  # a nearer one of the same name takes its place
    changed = True
    while changed:
        changed = False
        for fixture in known.values():
            trouble = fixture.trouble or _unmet(fixture, known)
            changed = changed or trouble != fixture.trouble
            fixture.trouble = trouble
    return files, known


def _unmet(fixture, known):
    """What one asks for and cannot get."""
    for need in fixture.needs:
        other = known.get(need)
        if other is None and need not in BUILT_IN:
            return "asks for %s" % need
        if other is not None and other.trouble is not None:
            return "asks for %s, which %s" % (need, other.trouble)
        narrower = SCOPES.index(other.scope) > SCOPES.index(fixture.scope) if other is not None else (
            fixture.shared and need not in OF_ANY_SCOPE)
        if narrower:
            return "asks for %s, which does not live as long" % need
    return None


def usable(known):
    return sorted(name for name, fixture in known.items() if fixture.trouble is None)


def automatic(known):
    """Those that every test gets, in the order that pytest makes them in."""
    found = [fixture for fixture in known.values() if fixture.autouse]
    return [one.name for one in sorted(found, key=lambda one: (SCOPES.index(one.scope), one.depth, one.name))]


def behind(names, known):
    """Fixtures, and all those that they ask for, those first."""
    found = []
    for name in names:
        if name in known and name not in found:
            found += [each for each in behind(known[name].needs, known) + [name] if each not in found]
    return found


def fits(name, value, parameter):
    """Whether a fixture is what a parameter asks for: by its name, and by its kind where that is known."""
    if parameter.style not in ("plain", "keyword"):
        return False
    if any(kind == ("class", type(value)) for kind, _ in parameter.kinds):
        return True
    if name != parameter.name and not name.endswith("_" + parameter.name):
        return False
    return not parameter.documented or any(same_kind(kind, value) for kind, _ in parameter.kinds)


def missed(troubles, targets):
    """Of those that cannot be used, the ones that by their names would have been, with the reason."""
    wanted = {snake(target.owner.__name__) for target in targets if target.owner is not None}
    wanted.update(parameter.name for target in targets for parameter in target.parameters)
    return {name: why for name, why in troubles.items() if name in wanted}


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
    return kind != type_hints.ANY and kind[0] == type_hints.of_value(value)[0]


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
