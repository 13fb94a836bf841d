"""Whose fault an error is: of code that lost its way on input of the documented kind, or of a caller who asked for it."""
import ast
import re
import sys

from .type_hints import ANY
from .variation import literal

KINDS = {"int": int, "str": str, "float": (int, float), "bool": bool, "bytes": bytes, "list": (list, tuple), "dict": dict,
         "set": (set, frozenset), "tuple": tuple, "none": type(None)}
MADE = ("class", "enum", "datetime", "date", "timedelta", "callable", "decimal", "path")
# What large numbers are cut down to: near to each other where time may double with each step.
SHRUNK = (10 ** 7, 10 ** 6, 10 ** 5, 10 ** 4, 1000, 300, 100, 50, 36, 33, 30, 27, 24, 22, 20)
SMALL = 50  # a recursion that is too deep for numbers or texts of this size does not end


def asked_for(case, error, documentation):
    """Whether the caller got what the arguments ask for: a key that is not there, an index beyond the end, a division by zero."""
    name, message, _ = error
    if re.search(r"\b%s\b" % name, documentation or ""):
        return True
    values = [value for source in sources(case) for value in literals(source)]
    if name == "KeyError":
        return any(repr(value) == message for value in values)
    if name == "ZeroDivisionError":
        return any(is_number(value) and value == 0 for value in values)
    if name == "IndexError":
        lengths = [len(value) for value in values if isinstance(value, (str, bytes, list, tuple))]
        return any(is_number(value) and not -length <= value < length for value in values for length in lengths)
    if name == "RecursionError":
        return any(size(value) > SMALL for value in values)
    return False


def fits(source, kind):
    """Whether an expression is of a kind, with all that it holds."""
    plain, value = literal(source)
    if plain:
        return _is_of(value, kind)
    if kind[0] in ("date", "datetime") and source.startswith("datetime."):
        return source.startswith("datetime.%s(" % kind[0])
    if kind[0] == "class":
        # What the library makes without more ado is not what people pass, nor is an object of another class.
        foreign = kind[1].__module__.split(".")[0] in getattr(sys, "stdlib_module_names", ())
        return not foreign and re.match(r"%s\b" % re.escape(kind[1].__name__), source) is not None
    return kind[0] in MADE


def _is_of(value, kind):
    if kind[0] == "union":
        return any(_is_of(value, part) for part in kind[1:])
    if not isinstance(value, KINDS.get(kind[0], ())) or isinstance(value, bool) and kind[0] != "bool":
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


def sources(case):
    """The arguments of a case, those of the calls before it and the making of its object included."""
    found = [source for _, source in case.args] + [source for _, args in case.steps for _, source in args]
    return found + made_with(case.receiver)


def made_with(receiver):
    """The arguments in the expression that makes an object."""
    try:
        call = ast.parse(receiver or "", mode="eval").body
    except SyntaxError:
        return []
    if not isinstance(call, ast.Call):
        return []
    return [ast.unparse(arg) if hasattr(ast, "unparse") else "" for arg in call.args + [word.value for word in call.keywords]]


def literals(source):
    """The value of a literal, and all that it holds."""
    try:
        return list(_parts(ast.literal_eval(source)))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return []


def _parts(value):
    yield value
    if isinstance(value, dict):
        value = list(value) + list(value.values())
    if isinstance(value, (list, tuple, set, frozenset)):
        for item in value:
            for part in _parts(item):
                yield part


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def size(value):
    if is_number(value):
        return abs(value)
    return len(value) if isinstance(value, (str, bytes, list, tuple, dict, set, frozenset)) else 0


def smaller(data):
    """A case with its large numbers made smaller step by step, as data: where time grows with them, some of these end."""
    target, args, receiver, steps = data
    found = []
    for most in SHRUNK:
        changed = [[name, _shrunk(source, most)] for name, source in args]
        smaller_case = [target, changed, receiver, steps]
        if changed != args and smaller_case not in found:
            found.append(smaller_case)
    return found


def _shrunk(source, most):
    values = literals(source)
    if len(values) == 1 and is_number(values[0]) and abs(values[0]) > most:
        return repr(type(values[0])(most if values[0] > 0 else -most))
    return source
