"""Annotations of a module whose names exist for type checkers only, or not at all."""
import ast
import collections.abc
import datetime
import importlib
import sys
import typing

_scopes = {}


class _UnknownKind(type):
    """Lets an annotation subscribe an unknown class, take parts of it and join it with others."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return cls

    def __getitem__(cls, _):
        return cls

    def __or__(cls, other):
        return typing.Union[cls, other]

    def __ror__(cls, other):
        return typing.Union[other, cls]


class Unknown(metaclass=_UnknownKind):
    """Stands for a class that an annotation names and that cannot be found."""


class _Scope(dict):
    def __missing__(self, name):
        return Unknown


def resolved(annotation, module):
    """What the text of an annotation means, or None."""
    scope = _scope_of(module)
    parts = [annotation]
    if "[" not in annotation:
        parts += annotation.split("|")  # older versions of Python cannot join classes
    found = []
    for part in parts:
        try:
            found.append(eval(part.strip(), {"__builtins__": {}}, scope))
        except Exception:
            continue
        if part is annotation:
            break
    found = [type(None) if kind is None else kind for kind in found]
    return typing.Union[tuple(found)] if len(found) > 1 else found[0] if found else None


def _scope_of(module):
    scope = _scopes.get(module.__name__)
    if scope is None:
        scope = _scopes[module.__name__] = _Scope(vars(importlib.import_module("builtins")))
        for names in (vars(typing), vars(collections.abc)):
            scope.update((name, value) for name, value in names.items() if name[0].isupper())
        scope.update(typing=typing, datetime=datetime, dt=datetime)
        scope.update(_names_for_type_checkers(module))
        scope.update(vars(module))
    return scope


def _names_for_type_checkers(module):
    """What the module imports under `if TYPE_CHECKING:`."""
    try:
        with open(module.__file__, "rb") as file:
            tree = ast.parse(file.read())
    except (AttributeError, OSError, SyntaxError, TypeError, ValueError):
        return
    for node in tree.body:
        if isinstance(node, ast.If) and getattr(node.test, "id", getattr(node.test, "attr", "")) == "TYPE_CHECKING":
            for statement in ast.walk(ast.Module(node.body, [])):
                if isinstance(statement, (ast.Import, ast.ImportFrom)):
                    for pair in _imported(statement, module):
                        yield pair


def _imported(statement, module):
    package = module.__package__ or module.__name__.rpartition(".")[0]
    for alias in statement.names:
        name = alias.name
        if isinstance(statement, ast.ImportFrom):
            name = "." * statement.level + (statement.module or "")
        elif not alias.asname:
            name = name.partition(".")[0]
        if not _loads_quickly(name, package):
            continue
        try:
            home = importlib.import_module(name, package)
            yield alias.asname or alias.name.partition(".")[0], getattr(home, alias.name) if isinstance(statement, ast.ImportFrom) else home
        except Exception:  # what a type checker needs is often not installed
            continue


def _loads_quickly(name, package):
    """Whether a module is loaded already, or belongs to the package or the standard library."""
    top = name.partition(".")[0]
    return name in sys.modules or top in ("", package.partition(".")[0]) or top in getattr(sys, "stdlib_module_names", ())
