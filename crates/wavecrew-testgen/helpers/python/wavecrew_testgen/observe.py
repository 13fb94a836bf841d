"""What a call did, as facts that a test can assert.

A fact is a tuple of an expression with `{}` for the value, an operator and the source of the expected value. Objects without
a stable source are described by their public attributes.
"""
import collections
import collections.abc
import datetime
import decimal
import enum
import fractions
import itertools
import keyword
import math
import pathlib
import re
import types
import uuid

from . import clock

MAX_ITEMS = 40
MAX_TEXT = 600
MAX_FACTS = 8
MAX_DEPTH = 4
MAX_CONTENTS = 10
ROUNDED = 6

STANDARD = {
    datetime.datetime: "datetime.datetime", datetime.date: "datetime.date", datetime.time: "datetime.time",
    datetime.timedelta: "datetime.timedelta", datetime.timezone: "datetime.timezone",
    decimal.Decimal: "decimal.Decimal", fractions.Fraction: "fractions.Fraction", uuid.UUID: "uuid.UUID",
    collections.OrderedDict: "collections.OrderedDict", collections.Counter: "collections.Counter",
    collections.deque: "collections.deque", range: "range", slice: "slice",
    pathlib.PosixPath: "pathlib.Path", pathlib.PurePosixPath: "pathlib.PurePosixPath",
}

STANDARD.update(clock.ORIGINALS)


class Unstable(Exception):
    """The value has no stable source."""


class Facts:
    """Turns values into facts, with the names that a test of this module can use."""

    def __init__(self, names, rounds=False):
        """`names` returns the name of a class or function, or None. When the code `rounds`, short decimals are asserted exactly."""
        self.name_of = names
        self.rounds = rounds

    def source(self, value, depth=0):
        """An expression that equals the value. Raises `Unstable` when there is none."""
        kind = type(value)
        if value is None or kind in (bool, int, str, bytes):
            return self._plain(value)
        if kind is float:
            return self._float(value)
        if depth > MAX_DEPTH:
            raise Unstable("too deep")
        if kind is complex:
            return repr(value)
        if kind in (list, tuple, set, frozenset, dict):
            return self._container(value, kind, depth)
        if isinstance(value, enum.Enum):
            return self._enum(value)
        if kind in STANDARD:
            return self._standard(value, kind, depth)
        if kind is collections.defaultdict:
            return self.source(dict(value), depth)
        if isinstance(value, tuple) and hasattr(kind, "_fields"):
            name = self.name_of(kind)
            if name is None or not _takes_fields(kind):
                if kind.__eq__ is not tuple.__eq__:
                    raise Unstable("its own comparison")
                return self.source(tuple(value), depth)
            return name + "(" + ", ".join(
                "%s=%s" % (field, self.source(item, depth + 1)) for field, item in zip(kind._fields, value)
            ) + ")"
        if isinstance(value, type) or isinstance(value, (types.FunctionType, types.BuiltinFunctionType)):
            name = self.name_of(value)
            if name is not None:
                return name
        if isinstance(value, bytearray):
            return repr(value)
        if isinstance(value, str) and kind.__eq__ is str.__eq__:
            return self._plain(str.__str__(value))
        if isinstance(value, int) and kind.__eq__ is int.__eq__:
            return self._plain(int(value))
        if isinstance(value, float) and kind.__eq__ is float.__eq__:
            return self._float(float(value))
        if isinstance(value, dict) and kind.__eq__ is dict.__eq__:
            return self._container(dict(value), dict, depth)
        if isinstance(value, list) and kind.__eq__ is list.__eq__:
            return self._container(list(value), list, depth)
        raise Unstable(kind.__name__)

    def _float(self, value):
        if math.isnan(value):
            raise Unstable("not a number")
        if math.isinf(value):
            return "float('inf')" if value > 0 else "float('-inf')"
        if value == int(value) and abs(value) < 1e15 or self.rounds and value == round(value, ROUNDED):
            return repr(value)
        return "pytest.approx(%r)" % value

    def _plain(self, value):
        text = repr(value)
        if len(text) > MAX_TEXT:
            raise Unstable("too long")
        if isinstance(value, str) and re.search(r"\b0x[0-9a-f]{6,}\b", value) and " at 0x" in value:
            raise Unstable("an address")
        return text

    def _container(self, value, kind, depth):
        if len(value) > MAX_ITEMS:
            raise Unstable("too many items")
        if kind is dict:
            parts = [
                self.source(key, depth + 1) + ": " + self.source(item, depth + 1) for key, item in value.items()
            ]
            text = "{" + ", ".join(parts) + "}"
        else:
            parts = [self.source(item, depth + 1) for item in value]
            if kind in (set, frozenset):
                if any("approx" in part for part in parts):
                    raise Unstable("floats in a set")
                parts.sort()
                text = "{" + ", ".join(parts) + "}" if parts else "set()"
                if kind is frozenset:
                    text = "frozenset(%s)" % (text if parts else "")
            elif kind is list:
                text = "[" + ", ".join(parts) + "]"
            else:
                text = "(" + ", ".join(parts) + ("," if len(parts) == 1 else "") + ")"
        if len(text) > MAX_TEXT:
            raise Unstable("too long")
        return text

    def _enum(self, value):
        name = self.name_of(type(value))
        if name is None or value.name is None or not value.name.isidentifier():
            raise Unstable("an enum without a name")
        return name + "." + value.name

    def _standard(self, value, kind, depth):
        if kind is collections.OrderedDict:
            return "collections.OrderedDict(%s)" % self.source(list(value.items()), depth + 1)
        if kind is collections.Counter:
            return "collections.Counter(%s)" % self.source(dict(value), depth + 1)
        if kind is collections.deque:
            return "collections.deque(%s)" % self.source(list(value), depth + 1)
        if kind in (pathlib.PosixPath, pathlib.PurePosixPath):
            return "%s(%r)" % (STANDARD[kind], str(value))
        if kind in (datetime.datetime, datetime.time) and value.tzinfo is not None:
            if type(value.tzinfo) is not datetime.timezone:
                raise Unstable("a time zone")
        text = repr(value)
        if kind in (range, slice) or text.startswith("datetime."):
            return text
        return STANDARD[kind].rpartition(".")[0] + "." + text if "." in STANDARD[kind] else text

    def of(self, value, place="{}", depth=0):
        """All facts about a value, at most `MAX_FACTS`."""
        if value is None or value is True or value is False or value is NotImplemented:
            return ((place, "is", repr(value)),)
        if isinstance(value, float) and math.isnan(value):
            return (("math.isnan(%s)" % place, "is", "True"),)
        try:
            return ((place, "==", self.source(value)),)
        except Unstable:
            pass
        except Exception:  # a __repr__ or __eq__ of the code under test
            return ((place, "type", _type_name(value)),)
        if depth > 1:
            return ((place, "type", _type_name(value)),)
        return self._parts(value, place, depth)

    def _parts(self, value, place, depth):
        kind = type(value)
        if isinstance(value, (list, tuple)) and 0 < len(value) <= 5:
            facts = [("len(%s)" % place, "==", str(len(value)))]
            for index, item in enumerate(value):
                facts.extend(self.of(item, "%s[%d]" % (place, index), depth + 1))
            return tuple(facts[:MAX_FACTS])
        if isinstance(value, (str, bytes, list, tuple, set, frozenset, dict)):
            facts = [(place, "type", _type_name(value)), ("len(%s)" % place, "==", str(len(value)))]
            if isinstance(value, (str, bytes)):
                facts.append((place + "[:40]", "==", repr(value[:40])))
                facts.append((place + "[-40:]", "==", repr(value[-40:])))
            return tuple(facts)
        facts = [(place, "type", _type_name(value))]
        if isinstance(value, BaseException):
            return tuple(facts + self._try(lambda: ("str(%s)" % place, "==", self._plain(str(value)))))
        if isinstance(value, re.Pattern):
            return ((place + ".pattern", "==", repr(value.pattern)),)
        if isinstance(value, re.Match):
            return ((place + ".group()", "==", repr(value.group())), (place + ".span()", "==", repr(value.span())))
        if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, types.MethodType, type)):
            return ((place + ".__name__", "==", repr(value.__name__)),)
        if kind.__module__ in ("builtins", "typing", "types"):
            return tuple(facts)
        for name, item in public_attributes(value):
            found = self.of(item, "%s.%s" % (place, name), depth + 2)
            facts.extend(fact for fact in found if fact[1] != "type")  # the state of an object, not that of its parts
        facts.extend(self.contents(value, place))
        for method in ("__str__", "__repr__"):
            if defines(kind, method):
                name = method.strip("_")
                shown = self._try(lambda: self.of(getattr(value, method)(), "%s(%s)" % (name, place), 2)[0])
                facts.extend(fact for fact in shown if fact[1] != "type")
                break
        return tuple(facts[:MAX_FACTS])

    def contents(self, value, place):
        """The fact about what a container holds, or about its length."""
        try:
            shown = contents(value)
            if shown is not None:
                return [("%s(%s)" % (shown[0], place), "==", self.source(shown[1]))]
        except Exception:  # the code under test, or items without a stable source
            pass
        if not defines(type(value), "__len__"):
            return []
        return self._try(lambda: ("len(%s)" % place, "==", str(len(value))))

    def _try(self, make):
        try:
            return [make()]
        except Exception:
            return []


def contents(value):
    """What a container holds, as the function that shows it and its result. None for other objects, and for long ones."""
    kind = type(value)
    if not (defines(kind, "__iter__") or isinstance(value, (dict, list, set))) or not hasattr(kind, "__len__"):
        return None
    if len(value) > MAX_CONTENTS:
        return None
    if isinstance(value, collections.abc.Mapping) or hasattr(kind, "keys") and hasattr(kind, "__getitem__"):
        return "dict", dict(value)
    if isinstance(value, collections.abc.Set):
        return "set", set(value)
    return "list", list(itertools.islice(iter(value), MAX_CONTENTS + 1))


def _type_name(value):
    return type(value).__name__


def _takes_fields(kind):
    """Whether a named tuple is constructed from its fields, rather than by a constructor of its own."""
    made_by = next(base for base in kind.__mro__ if "__new__" in vars(base))
    return "_fields" in vars(made_by) and kind.__init__ is object.__init__


def defines(kind, method):
    found = getattr(kind, method, None)
    return isinstance(found, types.FunctionType)


def public_attributes(value):
    """Attributes and properties without a leading underscore, in the order of the class."""
    kind = type(value)
    names = []
    expressions = [slot for base in kind.__mro__ for slot in slots_of(base)]
    for name in [name for name in list(getattr(value, "__dict__", ())) + expressions if _can_be_written(name)]:
        if name not in names:
            names.append(name)
    for base in kind.__mro__:
        for name, item in vars(base).items():
            if isinstance(item, property) and name not in names:
                names.append(name)
    found = []
    for name in names[:30]:
        if not isinstance(name, str) or name.startswith("_"):
            continue
        try:
            item = getattr(value, name)
        except Exception:
            continue
        if not callable(item) or isinstance(item, type):
            found.append((name, item))
    return found


def _can_be_written(name):
    """Whether an attribute can follow a dot. Classes such as dictionaries with attributes have others too."""
    return isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name)


def slots_of(base):
    expressions = vars(base).get("__slots__", ())
    return (expressions,) if isinstance(expressions, str) else tuple(expressions)
