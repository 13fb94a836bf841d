"""The targets of a module: functions, classes, methods and properties, and the kinds of values that their parameters take."""
import ast
import enum
import inspect
import sys
import types
import typing
import unittest

from . import annotations, type_hints, usage
from .cases import OPERATORS, REFLECTED, UNARY, arguments, method_call
from .stubs import Stubs
from .type_hints import ANY

DUNDERS = set(OPERATORS) | set(REFLECTED) | set(UNARY) | {"__getitem__", "__contains__", "__call__", "__setitem__",
                                                         "__delitem__", "__enter__", "__format__"}
DUNDERS.discard("__hash__")
CHANGING_DUNDERS = {"__setitem__", "__delitem__", "__call__", "__next__", "__enter__"}


# Constructor parameters that take objects of the same class: trees and linked lists.
RELATIVES = {"left", "right", "next", "next_node", "prev", "previous", "parent", "child"}
# The weight of an observed kind, and how many observations of it count.
LEARNT, MAX_LEARNT = 6, 3


class Parameter:
    __slots__ = ("name", "style", "required", "kinds", "default", "checked", "documented", "fixtures", "observed_kinds")

    def __init__(self, name, style, required, ranked, default, checked, documented=False):
        self.name = name
        self.style = style  # "plain", "keyword", "many" or "named"
        self.required = required
        self.kinds = ranked  # pairs of a kind and a weight
        self.default = default
        self.checked = checked
        self.documented = documented  # by an annotation or a docstring
        self.fixtures = []  # names of fixtures that fit
        self.observed_kinds = {}  # kind: how often somebody passes a value of it

    def add_observed_kind(self, kind):
        """Somebody passes a value of this kind."""
        if self.observed_kinds.get(kind, 0) < MAX_LEARNT:
            self.observed_kinds[kind] = self.observed_kinds.get(kind, 0) + 1
            ranked = dict(self.kinds)
            ranked[kind] = ranked.get(kind, 0) + LEARNT
            self.kinds = sorted(ranked.items(), key=lambda item: (-item[1], repr(item[0])))


class Target:
    """Something that can be called or read."""

    def __init__(self, key, name, owner, how, function, parameters, public):
        self.key = key
        self.name = name
        self.owner = owner  # the class, or None
        self.how = how  # "function", "method", "class", "static", "property" or "setter"
        self.function = function
        self.parameters = parameters
        self.public = public
        self.offered = public  # to users of the package
        self.lines = (0, 0)
        self.manages_context = False
        self.is_read_only = how == "property" or name in DUNDERS - CHANGING_DUNDERS
        self.returns_sorted = False  # it sorts, so the order of its result matters
        self.returns_value = False  # it has a `return` with a value
        self.pool = None
        self.qualified_name = ""

    def expression(self, words, has_receiver):
        """The call as source text. A method is called on the variable `subject`."""
        if self.how == "property":
            return "subject." + self.name
        if self.how == "setter":
            return "setattr(subject, %r, %s)" % (self.name, words[0][1] if words else "None")
        if has_receiver:
            return method_call("subject", self.name, words)
        return "%s(%s)" % (self.qualified_name, arguments(words))


def hints_of(function, module):
    try:
        return typing.get_type_hints(function)
    except Exception:
        pass
    home = sys.modules.get(getattr(function, "__module__", None), module)
    found = {}
    for name, annotation in getattr(function, "__annotations__", {}).items():
        kind = annotations.resolved(annotation, home) if isinstance(annotation, str) else annotation
        if kind is not None or annotation is None:
            found[name] = kind
    return found


class Analysis:
    def __init__(self, module, names, source, path):
        self.module = module
        self.names = names
        self.path = path
        self.source = source
        self.tree = ast.parse(source)
        self.functions = {}
        self.targets = []
        self.attributes = {}
        self.owner = None
        self._kinds_by_function = {}
        self.stubs = Stubs(path, module)
        self._index(self.tree.body)
        self._discover()

    def _index(self, body, owner=""):
        """Indexes function definitions by qualified name, including those under `if` and `try`."""
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.functions[owner + node.name] = node
            elif isinstance(node, ast.ClassDef):
                if not owner:
                    self.attributes[node.name] = _attributes(node)
                self._index(node.body, owner + node.name + ".")
            else:
                for part in ("body", "orelse", "finalbody"):
                    inner = getattr(node, part, None)
                    if isinstance(inner, list):
                        self._index(inner, owner)

    def _discover(self):
        seen = set()
        for name, value in list(vars(self.module).items()):
            if not name.isidentifier() or getattr(value, "__module__", None) != self.module.__name__:
                continue
            if name not in self.names.namespace or name.startswith("test") or id(value) in seen:
                continue
            seen.add(id(value))  # an alias is not another target
            if isinstance(value, type):
                self._class(name, value)
            elif callable(value) and (name in self.functions or isinstance(value, types.FunctionType)):
                self._add(name, name, None, "function", value, name)

    def _class(self, name, kind):
        if issubclass(kind, unittest.TestCase):
            return  # a test
        public = not name.startswith("_")
        if not issubclass(kind, enum.Enum) and not getattr(kind, "_is_protocol", False):
            self._add(name, name, kind, "class", kind, name)
        for attribute, item in list(vars(kind).items()):
            key = name + "." + attribute
            if attribute.startswith("__") and attribute not in DUNDERS:
                continue
            if isinstance(item, (staticmethod, classmethod)):
                self._add(key, attribute, kind, "static", getattr(kind, attribute), key, public)
            elif isinstance(item, property) or type(item).__name__ == "cached_property":
                function = getattr(item, "fget", None) or getattr(item, "func", None)
                self._add(key, attribute, kind, "property", function, key, public)
                if getattr(item, "fset", None) is not None:
                    self._add(key + "=", attribute, kind, "setter", item.fset, key, public)
            elif isinstance(item, types.FunctionType) or (callable(item) and key in self.functions):
                if "__abstractmethods__" in vars(kind) and attribute in kind.__abstractmethods__:
                    continue
                self._add(key, attribute, kind, "method", item, key, public)

    def _add(self, key, name, owner, how, function, qualified_name, public=True):
        node = self.functions.get(key)
        if how == "class":
            node = self.functions.get(key + ".__init__") or self.functions.get(key + ".__new__")
        elif node is None and function is not None:
            node = self._node_of(function)
        public = public and (not name.startswith("_") or name in DUNDERS)
        self.owner = owner
        parameters = [] if how == "property" else self._parameters(function, node, how, key)
        if parameters is None:
            return
        target = Target(key, name, owner, how, function, parameters, public)
        target.offered = public and _is_offered(qualified_name.partition(".")[0], self.module)
        target.qualified_name = qualified_name
        if node is not None:
            target.lines = (node.lineno, node.end_lineno or node.lineno)
            target.returns_sorted = any(isinstance(part, ast.Call) and _called(part) in ("sorted", "sort") for part in ast.walk(node))
            target.returns_value = any(isinstance(part, ast.Return) and part.value is not None for part in ast.walk(node))
            target.manages_context = any("contextmanager" in ast.dump(d) for d in node.decorator_list)
        if owner is not None and hasattr(owner, "__enter__") and how == "class":
            target.manages_context = True
        self.targets.append(target)

    def _node_of(self, function):
        code = getattr(inspect.unwrap(function) if callable(function) else function, "__code__", None)
        if code is None or code.co_filename != self.path:
            return None
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
                first = min([node.lineno] + [d.lineno for d in node.decorator_list])
                if first == code.co_firstlineno:
                    return node
        return None

    def _parameters(self, function, node, how, key=""):
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):
            return [] if how == "class" else None
        found = list(signature.parameters.values())
        if how in ("method", "setter"):
            found = found[1:]
        hinted = function.__init__ if how == "class" else inspect.unwrap(function)
        hints = hints_of(hinted, self.module)
        if how == "class":
            hints = dict(hints_of(function, self.module), **hints)
        hints = dict(self.stubs.hints(key + ".__init__" if how == "class" else key), **hints)
        doc = (inspect.getdoc(function) or "") + "\n" + (inspect.getdoc(hinted) or "")
        signs = usage.uses(node, [p.name for p in found], self._calls) if node is not None else {}
        return [self._parameter(p, hints.get(p.name, p.annotation), doc, signs.get(p.name)) for p in found]

    def _classes_with(self, attributes):
        """Classes of the module that have all of these attributes."""
        found = []
        if attributes:
            for name, has in self.attributes.items():
                kind = getattr(self.module, name, None)
                if attributes <= has and isinstance(kind, type):
                    found.append(kind)
        return found[:2]

    def _calls(self, called, call):
        """Kinds of the variables that are passed to another function of this module."""
        node = self.functions.get(called)
        if node is None:
            return []
        kinds = self._kinds_by_function.get(called)
        if kinds is None:
            names = [arg.arg for arg in node.args.args]
            signs = usage.uses(node, names, None)
            kinds = self._kinds_by_function[called] = [usage.best(signs[name]) for name in names]
        pairs = zip(call.args, kinds)
        return [(arg.id, kind) for arg, kind in pairs if isinstance(arg, ast.Name) and kind != ANY]

    def _parameter(self, parameter, annotation, doc, use):
        style = {
            parameter.VAR_POSITIONAL: "many", parameter.VAR_KEYWORD: "named", parameter.KEYWORD_ONLY: "keyword",
        }.get(parameter.kind, "plain")
        required = parameter.default is parameter.empty and style in ("plain", "keyword")
        ranked = {}

        def add(kind, weight):
            if kind != ANY:
                ranked[kind] = ranked.get(kind, 0) + weight

        add(type_hints.kind_of_annotation(annotation), 40)
        add(type_hints.kind_of_docstring(doc, parameter.name), 10)
        documented = bool(ranked)
        if not required and parameter.default is not parameter.empty and parameter.default is not None:
            add(type_hints.kind_of_value(parameter.default), 12)
        if use is not None:
            signs = usage.ranking(use)
            for kind, weight in signs[:4]:
                add(kind, min(weight, 8) * (1 if ranked else 2))
            for kind in self._classes_with(use.attributes):
                add(("class", kind), 20)
        if self.owner is not None and parameter.name in RELATIVES and parameter.default is None:
            add(("class", self.owner), 8)
        if not ranked or max(ranked.values()) < 8:
            add(type_hints.kind_of_name(parameter.name), 5)
        if not ranked:
            ranked[("plain",)] = 4
        if parameter.default is None:
            ranked[("none",)] = ranked.get(("none",), 0) + max(ranked.values()) // 4
        total = sum(ranked.values())
        if use is not None and use.checked:
            ranked[ANY] = ranked.get(ANY, 0) + max(1, total // 6)
        else:
            ranked[ANY] = ranked.get(ANY, 0) + max(1, total // (40 if total >= 40 else 15))
        return Parameter(
            parameter.name, style, required, sorted(ranked.items(), key=lambda item: (-item[1], repr(item[0]))),
            parameter.default, bool(use and use.checked), documented,
        )


def _is_offered(name, module):
    """Whether users of the package can be meant to use something: its module is public, or a package passes it on."""
    parts = module.__name__.split(".")
    if not any(part.startswith("_") and not part.endswith("__") for part in parts):
        return True
    value = getattr(module, name, None)
    packages = [".".join(parts[:end]) for end in range(1, len(parts))]
    return any(getattr(sys.modules.get(package), name, None) is value for package in packages)


def _called(call):
    return getattr(call.func, "id", getattr(call.func, "attr", None))


def _attributes(node):
    """Attributes of a class: what its body defines and its methods assign."""
    found = set()
    for part in ast.walk(node):
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)) and not part.name.startswith("__"):
            found.add(part.name)
        elif isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store) and isinstance(part.value, ast.Name):
            if part.value.id == "self":
                found.add(part.attr)
        elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            found.add(part.target.id)
    return found
