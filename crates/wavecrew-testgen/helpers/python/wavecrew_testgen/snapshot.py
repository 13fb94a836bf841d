"""Snapshots of objects, to find out whether a call changed them."""
import collections
import datetime
import decimal
import enum
import fractions
import pathlib
import re
import sys
import types
import uuid

MAX_PARTS = 3000
PLAIN = (type(None), bool, int, float, complex, str, bytes)
FIXED = (datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo, decimal.Decimal, fractions.Fraction, uuid.UUID,
         pathlib.PurePath, re.Pattern, enum.Enum, range, slice)
HOLDERS = (dict, list, tuple, set, frozenset, bytearray, collections.deque, collections.OrderedDict, collections.defaultdict)
MADE_BY_PYTHON = 1 << 9  # Py_TPFLAGS_HEAPTYPE: set for classes from a class statement, and for few others
NAMED = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, types.MethodType)


class Opaque(Exception):
    """The object contains something that cannot be inspected."""


def take(value):
    """A value that stays equal while nothing in the object changes. Raises `Opaque`."""
    return _of(value, {})


def _of(value, seen):
    kind = type(value)
    if kind in PLAIN:
        return kind.__name__, repr(value)
    if isinstance(value, NAMED):
        return "is", id(value)
    if id(value) in seen:
        return "again", seen[id(value)]
    seen[id(value)] = len(seen)
    if len(seen) > MAX_PARTS:
        raise Opaque("too large")
    if isinstance(value, FIXED):
        return kind.__name__, repr(value)
    parts = [kind.__name__]
    held = True
    if isinstance(value, dict):
        parts.append([(_of(key, seen), _of(item, seen)) for key, item in value.items()])
    elif isinstance(value, (list, tuple, collections.deque)):
        parts.append([_of(item, seen) for item in value])
    elif isinstance(value, (set, frozenset)):
        parts.append(sorted(repr(_of(item, seen)) for item in value))
    elif isinstance(value, bytearray):
        parts.append(bytes(value))
    else:
        held = False
    expressions = [name for base in kind.__mro__ for name in _slots(base) if hasattr(value, name)]
    if not held and not (expressions or hasattr(value, "__dict__")) or not all(map(_of_python, kind.__mro__)):
        raise Opaque(kind.__name__)
    parts.append([(name, _of(getattr(value, name), seen)) for name in expressions])
    parts.append([(name, _of(item, seen)) for name, item in getattr(value, "__dict__", {}).items()])
    return tuple(parts)


def _of_python(base):
    """Whether Python code can see all state of a class."""
    if base is object or base in HOLDERS:
        return True
    home = getattr(sys.modules.get(base.__module__), "__file__", None) or ""
    return bool(base.__flags__ & MADE_BY_PYTHON) and home.endswith(".py")


def _slots(base):
    expressions = vars(base).get("__slots__", ())
    names = (expressions,) if isinstance(expressions, str) else tuple(expressions)
    return [name for name in names if name not in ("__dict__", "__weakref__")]
