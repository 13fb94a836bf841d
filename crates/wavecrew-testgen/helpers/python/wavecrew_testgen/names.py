"""The names that cases and tests can use, and how a test file imports them."""
import ast
import builtins
import importlib
import sys
import types

# Modules of the standard library that expressions can use.
STANDARD = (
    "array", "asyncio", "collections", "copy", "datetime", "decimal", "enum", "fractions", "functools", "io", "itertools",
    "math", "operator", "pathlib", "random", "re", "string", "types", "uuid",
)


class Names:
    """The namespace of a module under test."""

    def __init__(self, module, project_packages):
        self.module = module
        self.namespace = {"__builtins__": builtins}
        self.origin = {}
        self.of_object = {}
        for name in STANDARD:
            self.namespace[name] = importlib.import_module(name)
        packages = tuple(project_packages)
        for name, value in list(vars(module).items()):
            if name.startswith("__") or isinstance(value, types.ModuleType) or not name.isidentifier():
                continue
            if name in STANDARD or hasattr(builtins, name) and name not in _defined(module):
                continue
            home = getattr(value, "__module__", None)
            if isinstance(value, (type, types.FunctionType)):
                if not isinstance(home, str):
                    continue
                if home != module.__name__:
                    if home.split(".")[0] not in packages or not _is_at(home, name, value):
                        continue
                    self._add(name, value, home)
                    continue
            self._add(name, value, module.__name__)

    def _add(self, name, value, home):
        self.namespace[name] = value
        self.origin[name] = home
        try:
            self.of_object.setdefault(value, name)
        except TypeError:
            pass  # not hashable, so nothing looks up its name

    def make_importable(self, kind):
        """Adds a class to the namespace. Returns its name, or None when a test cannot import it."""
        name = self.name_of(kind)
        if name is not None:
            return name
        home = getattr(kind, "__module__", None)
        name = getattr(kind, "__name__", "")
        if not isinstance(home, str) or name in self.namespace or hasattr(builtins, name) or name.startswith("_"):
            return None
        if not _is_at(home, name, kind) or home.split(".")[0] in sys.builtin_module_names:
            return None
        self._add(name, kind, home)
        return name

    def name_of(self, value):
        """The expression for a class or function, or None."""
        try:
            if value in self.of_object:
                return self.of_object[value]
        except TypeError:
            return None
        name = getattr(value, "__name__", None)
        home = getattr(value, "__module__", None)
        if not isinstance(name, str):
            return None
        if home in ("builtins", None) and getattr(builtins, name, None) is value:
            return name
        if home in STANDARD and getattr(sys.modules.get(home), name, None) is value:
            return home + "." + name
        outer = getattr(value, "__qualname__", name)
        if "." in outer and "<" not in outer and home == self.module.__name__:
            found = self.module
            for part in outer.split("."):
                found = getattr(found, part, None)
            if found is value and outer.split(".")[0] in self.namespace:
                return outer
        return None

    def exception_name(self, kind):
        """The nearest class of an exception that a test can name."""
        for base in kind.__mro__:
            name = self.make_importable(base) if base.__module__ != "builtins" else self.name_of(base)
            if name is not None:
                return name
        return "Exception"


def _defined(module):
    return {
        name for name, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__
    }


def _is_at(home, name, value):
    return getattr(sys.modules.get(home), name, None) is value


def fixtures_used(case, fixtures):
    """Names of the fixtures that a case uses, in order."""
    if not fixtures:
        return []
    sources = [case.receiver] if case.receiver is not None else []
    sources += [source for _, args in case.steps for _, source in args] + [source for _, source in case.args]
    found = [name for source in sources for name in sorted(used_names(source).intersection(fixtures))]
    return list(dict.fromkeys(found))


def used_names(source):
    """Free names of a piece of source."""
    bound = set()
    used = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
    return used - bound
