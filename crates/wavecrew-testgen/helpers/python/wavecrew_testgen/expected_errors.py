"""Whether an error is what the arguments ask for, rather than a defect."""
import ast
import re

from .literals import constants_in, is_number, values_in

# Replacements for large numbers, close together where time may double with each step.
SHRUNK = (10 ** 7, 10 ** 6, 10 ** 5, 10 ** 4, 1000, 300, 100, 50, 36, 33, 30, 27, 24, 22, 20)
# Methods that people expect to fail for a missing key or index.
ACCESSORS = ("__getitem__", "__delitem__", "__setitem__", "__missing__", "pop", "popitem", "popleft", "remove", "index")
MANY = 15  # items, of which there are too many combinations
EMPTY = ([], (), {}, set())
SMALL = 50  # a recursion that fails for values of this size is endless


def is_expected_error(case, error, documentation):
    """Whether the arguments explain an error: a missing key, an index out of range, a division by zero."""
    name, message, _ = error
    if re.search(r"\b%s\b" % name, documentation or ""):
        return True
    if name in ("IndexError", "KeyError") and case.target.rpartition(".")[2] in ACCESSORS:
        return True
    values = [value for source in sources(case) for value in _values_of(source)]
    if name == "AttributeError":  # annotations such as `Sequence` allow more types than the code
        return any(message.startswith("'%s' object" % type(value).__name__) for value in values if value is not None)
    if name == "KeyError":
        # Also a key that the code made from an argument, such as `text.upper()`.
        key = message.strip("'\"").lower()
        if lacks_key(case, message):
            return True
        return any(repr(value) == message or isinstance(value, str) and key and key in value.lower() for value in values)
    if name == "ZeroDivisionError":
        return any(is_number(value) and value == 0 for value in values)
    if name == "IndexError" and message.startswith("Replacement index"):
        return True  # a format string of the caller
    if name == "IndexError" and any(value in EMPTY for source in made_with(case.receiver) for value in values_in(source)):
        return True  # an object constructed from something empty
    if name == "IndexError":
        lengths = [len(value) for value in values if isinstance(value, (str, bytes, list, tuple))]
        return any(is_number(value) and not -length <= value < length for value in values for length in lengths)
    if name == "RecursionError":
        return any(size(value) > SMALL for value in values)
    return False


def lacks_key(case, key):
    """Whether a dictionary among the arguments lacks a key that no argument names, so that the code asks for it."""
    values = [value for source in sources(case) for value in _values_of(source)]
    return any(isinstance(value, dict) for value in values) and not any(repr(value) == key for value in values)


def _values_of(source):
    """The values in an expression, also those with which it constructs an object."""
    return values_in(source) or [value for _, _, value in constants_in(source)]


def may_take_long(case):
    """Whether a call may run long although nothing is wrong: it collects an iterator, or tries all of many items."""
    if case.target.rpartition(".")[2] in ("__iter__", "__reversed__"):
        return True
    values = [value for source in sources(case) for value in values_in(source)]
    if any(len(value) > SMALL for value in values if isinstance(value, (str, bytes))):
        return True
    return any(len(value) > MANY for value in values if isinstance(value, (list, tuple, dict, set)))


def sources(case):
    """All arguments of a case, including those of its steps and of the construction of its object."""
    found = [source for _, source in case.args] + [source for _, args in case.steps for _, source in args]
    return found + made_with(case.receiver)


def made_with(receiver):
    """The arguments in the expression that constructs an object."""
    try:
        call = ast.parse(receiver or "", mode="eval").body
    except SyntaxError:
        return []
    if not isinstance(call, ast.Call):
        return []
    return [ast.unparse(arg) if hasattr(ast, "unparse") else "" for arg in call.args + [word.value for word in call.keywords]]


def size(value):
    if is_number(value):
        return abs(value)
    return len(value) if isinstance(value, (str, bytes, list, tuple, dict, set, frozenset)) else 0


def with_smaller_numbers(data):
    """Copies of a case with smaller numbers, as data. When time grows with the numbers, some of these end."""
    target, args, receiver, steps = data
    found = []
    for most in SHRUNK:
        changed = [[name, _shrunk(source, most)] for name, source in args]
        smaller_case = [target, changed, receiver, steps]
        if changed != args and smaller_case not in found:
            found.append(smaller_case)
    return found


def _shrunk(source, most):
    values = values_in(source)
    if len(values) == 1 and is_number(values[0]) and abs(values[0]) > most:
        return repr(type(values[0])(most if values[0] > 0 else -most))
    return source
