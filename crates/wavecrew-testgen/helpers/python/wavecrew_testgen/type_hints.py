"""The kind of value that a parameter takes, from annotations, defaults, docstrings and names.

A kind is a tuple: a word, then its parts. `("list", ("int",))` is a list of integers.
"""
import collections
import collections.abc
import datetime
import decimal
import enum
import fractions
import inspect
import pathlib
import re
import sys
import types
import typing
import uuid

from .annotations import Unknown
from .literals import literal

ANY = ("any",)
UNKNOWN = ("unknown",)  # a class that cannot be found, so that no value is known to be of it
PLAIN = {int: "int", float: "float", str: "str", bool: "bool", bytes: "bytes", complex: "complex", type(None): "none",
         object: "any", bytearray: "bytes", memoryview: "bytes"}
STANDARD = {
    datetime.datetime: "datetime", datetime.date: "date", datetime.time: "time", datetime.timedelta: "timedelta",
    datetime.tzinfo: "tzinfo", datetime.timezone: "tzinfo", decimal.Decimal: "decimal",
    fractions.Fraction: "fraction", uuid.UUID: "uuid", pathlib.Path: "path", pathlib.PurePath: "path",
    re.Pattern: "pattern", re.Match: "match", range: "range", slice: "slice",
}
LISTS = (list, collections.abc.Sequence, collections.abc.MutableSequence, collections.abc.Iterable,
         collections.abc.Collection, collections.abc.Container, collections.abc.Reversible, collections.deque)
SETS = (set, frozenset, collections.abc.Set, collections.abc.MutableSet)
DICTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping, collections.OrderedDict,
         collections.defaultdict, collections.Counter)


def kind_of_annotation(annotation, depth=0):
    """The kind of a resolved annotation."""
    if annotation is inspect.Parameter.empty or annotation is typing.Any or depth > 4:
        return ANY
    if annotation is None:
        return ("none",)
    if annotation is Unknown:
        return UNKNOWN if depth else ANY
    if isinstance(annotation, str):
        return _of_name(annotation)
    if isinstance(annotation, typing.TypeVar):
        if annotation.__constraints__:
            return _union(annotation.__constraints__, depth)
        return kind_of_annotation(annotation.__bound__, depth + 1) if annotation.__bound__ else ANY
    if isinstance(annotation, typing.ForwardRef):
        return _of_name(annotation.__forward_arg__)
    if hasattr(annotation, "__supertype__"):
        return kind_of_annotation(annotation.__supertype__, depth + 1)
    origin = typing.get_origin(annotation)
    args = typing.get_args(annotation)
    if origin is typing.Union or origin is getattr(types, "UnionType", ()):
        return _union(args, depth)
    if str(origin) == "typing.Literal" or origin is typing.Literal:
        return ("literal",) + tuple(args)
    if hasattr(annotation, "__metadata__"):
        return kind_of_annotation(args[0], depth + 1)
    if origin in (typing.ClassVar, getattr(typing, "Final", None)):
        return kind_of_annotation(args[0], depth + 1) if args else ANY
    return _of_class(origin or annotation, args, depth)


def _union(args, depth):
    parts = tuple(dict.fromkeys(kind_of_annotation(arg, depth + 1) for arg in args))
    return parts[0] if len(parts) == 1 else ("union",) + parts


def _of_class(kind, args, depth):
    inner = [kind_of_annotation(arg, depth + 1) for arg in args if arg is not Ellipsis and not isinstance(arg, list)]
    if kind in PLAIN:
        return (PLAIN[kind],)
    if kind in STANDARD:
        return (STANDARD[kind],)
    if kind is tuple:
        if len(args) == 2 and args[1] is Ellipsis:
            return ("list", inner[0])
        return ("tuple",) + tuple(inner) if inner else ("list", ANY)
    if kind in LISTS:
        return ("list", inner[0] if inner else ANY)
    if kind in SETS:
        return ("set", inner[0] if inner else ("int",))
    if kind in DICTS:
        if kind is collections.Counter:
            return ("dict", inner[0] if inner else ("str",), ("int",))
        return ("dict", inner[0], inner[1]) if len(inner) > 1 else ("dict", ("str",), ANY)
    if kind in (collections.abc.Iterator, collections.abc.Generator):
        return ("iterator", inner[0] if inner else ANY)
    if kind is collections.abc.Callable:
        arity = len(args[0]) if args and isinstance(args[0], list) else 1
        result = kind_of_annotation(args[-1], depth + 1) if args else ANY
        return ("callable", arity, result)
    if kind is type:
        return ("type",)
    if kind in (collections.abc.Hashable, collections.abc.Sized):
        return ("str",)
    if isinstance(kind, type):
        name = getattr(kind, "__name__", "")
        if name in ("SupportsInt", "SupportsIndex", "SupportsAbs", "SupportsRound", "Integral", "Number", "Real"):
            return ("int",)
        if name in ("SupportsFloat", "SupportsComplex"):
            return ("float",)
        if name in ("IO", "TextIO", "TextIOBase", "TextIOWrapper", "StringIO"):
            return ("textio",)
        if name in ("BinaryIO", "BytesIO", "RawIOBase", "BufferedIOBase"):
            return ("bytesio",)
        if name in ("PathLike",):
            return ("path",)
        if issubclass(kind, enum.Enum):
            return ("enum", kind)
        return ("class", kind)
    return ANY


WORDS = {
    "int": "int", "integer": "int", "ints": "int", "number": "float", "float": "float", "str": "str", "string": "str",
    "bool": "bool", "boolean": "bool", "bytes": "bytes", "none": "none", "datetime": "datetime", "date": "date",
    "timedelta": "timedelta", "decimal": "decimal", "path": "path", "text": "str", "char": "str", "unicode": "str",
}


def _of_name(text):
    """The kind that a text names, such as a docstring."""
    text = text.strip().lower()
    options = [part for part in re.split(r"\bor\b|\||,(?![^\[]*\])", text) if part.strip()]
    if len(options) > 1:
        parts = tuple(dict.fromkeys(kind for kind in map(_of_name, options) if kind != ANY))
        return ANY if not parts else parts[0] if len(parts) == 1 else ("union",) + parts
    match = re.match(r"(?:typing\.)?(optional|list|sequence|iterable|tuple|set|dict|mapping|callable|function|array)"
                     r"\s*(?:of\s+|\[|\()?\s*(\w*)", text)
    if match:
        outer, inner = match.groups()
        part = (WORDS[inner],) if inner in WORDS else (WORDS[inner[:-1]],) if inner[:-1] in WORDS else ANY
        if outer == "optional":
            return ("union", part, ("none",))
        if outer in ("dict", "mapping"):
            return ("dict", part if part != ANY else ("str",), ANY)
        if outer in ("callable", "function"):
            return ("callable", 1, ANY)
        return ("set", part) if outer == "set" else ("list", part)
    word = re.sub(r"^(an?|the)\s+", "", text).split(" ")[0].strip("`.:;,").split(".")[-1]
    return (WORDS[word],) if word in WORDS else ANY


def kind_of_docstring(doc, name):
    """The kind that a docstring gives for a parameter, in the usual styles."""
    if not doc:
        return ANY
    escaped = re.escape(name)
    for pattern in (
        r":type\s+%s\s*:\s*(.+)" % escaped,
        r":param\s+([\w\[\], .|]+?)\s+%s\s*:" % escaped,
        r"^\s*\**%s\s*\(([^)]+)\)\s*:" % escaped,
        r"^\s*%s\s:\s+(.+)$" % escaped,
    ):
        match = re.search(pattern, doc, re.MULTILINE)
        if match:
            return _of_name(match.group(1).replace(", optional", ""))
    return ANY


NAMED = (
    (r"(is|has|should|allow|enable|use|include)_\w+|flag|strict|verbose|reverse|ascending|recursive|\w+_only", ("bool",)),
    (r"n|m|k|i|j|x|y|z|a|b|c|num|count|size|length|width|height|index|idx|pos|limit|max\w*|min\w*|start|stop|end|step|"
     r"level|depth|age|year|month|day|hour|minute|second|base|low|high|lo|hi|offset|amount|total|number|value|val|digit|"
     r"target|threshold|rate|price|\w+_(count|size|length|width|index|num|id)", ("int",)),
    (r"nums?|numbers|values|vals|arr|array|lst|list\d?|l\d?|items|elements|seq\w*|data|xs|ys|scores|prices|weights|"
     r"interval|intervals|heights|candidates|points|ints", ("list", ("int",))),
    (r"matrix|grid|board|rows|table|mat", ("list", ("list", ("int",)))),
    (r"words|names|strings|strs|lines|tokens|parts|keys|args|paths|fields|sentences|texts|tags|labels", ("list", ("str",))),
    (r"s\d?|t|str\w*|text\w*|word\w*|name|title|line|char|ch|msg|message|sentence|key|token|url|uri|email|path|filename|"
     r"label|prefix|suffix|pattern|sep\w*|delim\w*|fmt|format|date_?str\w*|\w+_(str|string|name|text)|code|input|expr\w*|"
     r"phrase|paragraph|query|version|password|username|phone|address|symbol|roman|binary|hex\w*", ("str",)),
    (r"d\d?|dict\w*|map\w*|mapping|config|options|params|settings|record|obj|kwargs|headers|env|graph|counts|inventory",
     ("dict", ("str",), ANY)),
    (r"f|fn|func\w*|function|callback|predicate|pred|key_func|operation|op|handler|transform|mapper|reducer|factory",
     ("callable", 1, ANY)),
    (r"date|start_date|end_date|birth\w*", ("date",)), (r"dt|datetime|moment|timestamp|now|when", ("datetime",)),
    (r"delta|duration", ("timedelta",)), (r"b|raw|payload|bytes|buf\w*|blob", ("bytes",)),
    (r"tree|root|node", ANY), (r"s_set|set\d?|visited|seen", ("set", ("int",))),
)


def kind_of_name(name):
    """The kind that the name of a parameter suggests."""
    lowered = name.strip("_").lower()
    for pattern, kind in NAMED:
        if re.fullmatch(pattern, lowered):
            return kind
    return ANY


def kind_of_value(value, depth=0):
    """The kind of a value, such as a default."""
    kind = type(value)
    if kind in PLAIN:
        return (PLAIN[kind],)
    if kind in STANDARD:
        return (STANDARD[kind],)
    if isinstance(value, enum.Enum):
        return ("enum", kind)
    if isinstance(value, (list, tuple)) and depth < 3:
        return ("list", kind_of_value(value[0], depth + 1) if value else ANY)
    if isinstance(value, (set, frozenset)):
        return ("set", kind_of_value(sorted(value, key=repr)[0], depth + 1) if value else ("int",))
    if isinstance(value, dict):
        for key, item in value.items():
            return ("dict", kind_of_value(key, depth + 1), kind_of_value(item, depth + 1))
        return ("dict", ("str",), ANY)
    if isinstance(value, type):
        return ("type", value)
    if callable(value):
        return ("callable", 1, ANY)
    return ANY


TYPES_OF_KIND = {"int": int, "str": str, "float": (int, float), "bool": bool, "bytes": bytes, "list": (list, tuple), "dict": dict,
         "set": (set, frozenset), "tuple": tuple, "none": type(None)}
CONSTRUCTED = ("class", "enum", "datetime", "date", "timedelta", "callable", "decimal", "path")


def source_fits(source, kind):
    """Whether the value of an expression is of a kind, including its items."""
    plain, value = literal(source)
    if plain:
        return _is_of(value, kind)
    if kind[0] in ("date", "datetime") and source.startswith("datetime."):
        return source.startswith("datetime.%s(" % kind[0])
    if kind[0] == "class":
        # Objects of the standard library or of another class are not what people pass.
        foreign = kind[1].__module__.split(".")[0] in getattr(sys, "stdlib_module_names", ())
        return not foreign and re.match(r"%s\b" % re.escape(kind[1].__name__), source) is not None
    return kind[0] in CONSTRUCTED


def _is_of(value, kind):
    if kind[0] == "union":
        return any(_is_of(value, part) for part in kind[1:])
    if not isinstance(value, TYPES_OF_KIND.get(kind[0], ())) or isinstance(value, bool) and kind[0] != "bool":
        return False
    parts = [part for part in kind[1:] if isinstance(part, tuple)]
    if kind[0] == "dict" and len(parts) == 2:
        return all(_may_be(key, parts[0]) and _may_be(item, parts[1]) for key, item in value.items())
    if kind[0] == "tuple" and parts:
        return len(parts) == len(value) and all(map(_may_be, value, parts))
    if kind[0] in ("list", "set") and parts:
        return all(_may_be(item, parts[0]) for item in value)
    return True


def _may_be(value, kind):
    return kind == ANY or _is_of(value, kind)
