"""Fixtures of the project, read from syntax: which of them the search can create as pytest would, and why not the others.

Only `conftest.py` files count: fixtures of a test module serve its own tests only.
"""
import ast
import importlib.util
import os
import pathlib

from . import type_hints
from .naming import snake

# Fixtures of pytest that the search can provide.
BUILT_IN = ("tmp_path", "tmp_path_factory", "monkeypatch", "request")
# Those that fixtures of any scope can use.
ANY_SCOPE = ("tmp_path_factory", "request")
SCOPES = ("session", "package", "module", "class", "function")
ASYNC_PLUGIN = "pytest_asyncio"


def conftests(root, laid_in):
    """The conftest files that apply to tests in a folder below the root, outermost first."""
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
    """One definition. `problem` says why the search cannot use it, or is None."""

    def __init__(self, decorator, node):
        self.node = node
        self.name = node.name
        self.scope = "function"
        self.autouse = False
        self.params = None
        self.depth = 0  # of its file
        self.problem = None
        args = node.args
        self.dependencies = [arg.arg for arg in args.args]
        self.asynchronous = isinstance(node, ast.AsyncFunctionDef)
        if args.vararg or args.kwarg or args.kwonlyargs or args.defaults:
            self.problem = "has parameters that are not fixtures"
        if len(node.decorator_list) > 1:
            self.problem = "has another decorator"
        if isinstance(decorator, ast.Call):
            self._options(decorator)
        if self.asynchronous and not (_fixture_module(decorator) == ASYNC_PLUGIN and importlib.util.find_spec(ASYNC_PLUGIN)):
            self.problem = "is asynchronous without pytest-asyncio"
        if self.dependencies.count(self.name):
            self.problem = "depends on a fixture of the same name"
        if not self.name.isidentifier():
            self.problem = "has a name that is not an identifier"

    def _options(self, decorator):
        if decorator.args:
            self.problem = "has positional options"
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
                self.problem = "has the option %s, whose value is not a literal" % keyword.arg

    @property
    def shared(self):
        """Whether tests share the object."""
        return self.scope != "function"


class ConftestFile:
    """One file: its tree, and its fixtures by name."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            self.tree = ast.parse(file.read())
        self.fixtures = {}
        for node in self.tree.body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for decorator in node.decorator_list:
                    if _fixture_module(decorator) is not None:
                        fixture = Fixture(decorator, node)
                        self.fixtures[fixture.name] = fixture


def _fixture_module(decorator):
    """The module that a fixture decorator comes from: pytest or its plugin; None for other decorators."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.attr == "fixture":
        return called.value.id if called.value.id in ("pytest", ASYNC_PLUGIN) else None
    return "pytest" if isinstance(called, ast.Name) and called.id == "fixture" else None


def read(paths):
    """The files, and all fixtures by name as tests below the last file see them. Empty when a file cannot be read."""
    files, known, autouse = [], {}, set()
    for depth, path in enumerate(paths):
        try:
            files.append(ConftestFile(path))
        except (OSError, SyntaxError, ValueError):
            return [], {}  # pytest would not start either
        for fixture in files[-1].fixtures.values():
            fixture.depth = depth
        known.update(files[-1].fixtures)
        autouse.update(name for name, fixture in files[-1].fixtures.items() if fixture.autouse)
    for name in autouse:
        known[name].autouse = True  # a nearer fixture of the same name replaces it
    changed = True
    while changed:
        changed = False
        for fixture in known.values():
            problem = fixture.problem or _unmet_dependency(fixture, known)
            changed = changed or problem != fixture.problem
            fixture.problem = problem
    return files, known


def _unmet_dependency(fixture, known):
    """The first dependency that is not available."""
    for dependency in fixture.dependencies:
        other = known.get(dependency)
        if other is None and dependency not in BUILT_IN:
            return "depends on %s" % dependency
        if other is not None and other.problem is not None:
            return "depends on %s, which %s" % (dependency, other.problem)
        narrower = SCOPES.index(other.scope) > SCOPES.index(fixture.scope) if other is not None else (
            fixture.shared and dependency not in ANY_SCOPE)
        if narrower:
            return "depends on %s, which has a narrower scope" % dependency
    return None


def usable(known):
    return sorted(name for name, fixture in known.items() if fixture.problem is None)


def autouse(known):
    """Autouse fixtures, in the order in which pytest creates them."""
    found = [fixture for fixture in known.values() if fixture.autouse]
    return [one.name for one in sorted(found, key=lambda one: (SCOPES.index(one.scope), one.depth, one.name))]


def with_dependencies(names, known):
    """Fixtures and all their dependencies, dependencies first."""
    found = []
    for name in names:
        if name in known and name not in found:
            found += [each for each in with_dependencies(known[name].dependencies, known) + [name] if each not in found]
    return found


def fixture_fits(name, value, parameter):
    """Whether a fixture fits a parameter: by name, and by kind where that is known."""
    if parameter.style not in ("plain", "keyword"):
        return False
    if any(kind == ("class", type(value)) for kind, _ in parameter.kinds):
        return True
    if name != parameter.name and not name.endswith("_" + parameter.name):
        return False
    return not parameter.documented or any(same_kind(kind, value) for kind, _ in parameter.kinds)


def wanted_but_unusable(problems, targets):
    """Unusable fixtures that by their names would have been used, with the reason."""
    wanted = {snake(target.owner.__name__) for target in targets if target.owner is not None}
    wanted.update(parameter.name for target in targets for parameter in target.parameters)
    return {name: why for name, why in problems.items() if name in wanted}


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
    return kind != type_hints.ANY and kind[0] == type_hints.kind_of_value(value)[0]


# A plugin that loads the project's conftest files for a run outside of its folders.
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
