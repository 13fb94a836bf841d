"""Literals in source text: their values and positions."""
import ast


def literal(source):
    """The pair (True, value) for a literal, otherwise (False, None)."""
    try:
        return True, ast.literal_eval(source)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False, None


def constants_in(source):
    """The constants in an expression: start, end and value of each. Positions are in bytes."""
    try:
        tree = ast.parse(source, mode="eval")
    except SyntaxError:
        return
    if "\n" in source:
        return
    inside = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            inside.add(id(node.operand))
            yield node.col_offset, node.end_col_offset, -node.operand.value
        elif isinstance(node, ast.Constant) and id(node) not in inside:
            yield node.col_offset, node.end_col_offset, node.value


def values_in(source):
    """The value of a literal and all values inside it."""
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
