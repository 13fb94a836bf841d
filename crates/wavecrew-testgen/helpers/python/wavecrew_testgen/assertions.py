"""Whether a test asserts something that can fail. Follows the rules of wavecrew's own check, and is stricter: it knows only
the assertions that generated tests contain."""
import ast

REFLEXIVE = (ast.Eq, ast.Is, ast.LtE, ast.GtE, ast.In)
RAISES = ("pytest.raises", "pytest.warns")


def asserts(text):
    """Whether the test in a piece of source has an assertion that can fail."""
    try:
        functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    except SyntaxError:
        return False  # an attribute or argument with a name that cannot be written
    return bool(functions) and _any_can_fail(functions[0].body)


def _any_can_fail(statements):
    for statement in statements:
        if isinstance(statement, ast.Assert) and _can_fail(statement.test):
            return True
        if isinstance(statement, ast.With):
            calls = [item.context_expr for item in statement.items if isinstance(item.context_expr, ast.Call)]
            if any(_dotted(call.func) in RAISES for call in calls) or _any_can_fail(statement.body):
                return True
    return False


def _can_fail(claim):
    if isinstance(claim, ast.BoolOp) and isinstance(claim.op, ast.And):
        return any(map(_can_fail, claim.values))
    if isinstance(claim, ast.BoolOp):
        return not any(map(_is_literal, claim.values))
    if isinstance(claim, ast.Compare):
        left, right = claim.left, claim.comparators[-1]
        if isinstance(claim.ops[0], REFLEXIVE) and ast.dump(left) == ast.dump(right):
            return False
        return not (_is_literal(left) and _is_literal(right))
    if isinstance(claim, ast.UnaryOp) and isinstance(claim.op, ast.Not):
        return not _is_literal(claim.operand)
    if isinstance(claim, ast.Call) and isinstance(claim.func, ast.Name) and claim.func.id == "isinstance":
        return _dotted(claim.args[-1]) != "object"
    return not isinstance(claim, ast.Tuple) and not _is_literal(claim)


def _dotted(node):
    """The name of a function or class, such as `pytest.raises`; empty for other expressions."""
    if isinstance(node, ast.Attribute):
        return "%s.%s" % (_dotted(node.value), node.attr)
    return node.id if isinstance(node, ast.Name) else ""


def _is_literal(node):
    """Whether a value is written down and holds no variable."""
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return all(map(_is_literal, node.elts))
    if isinstance(node, ast.Dict):
        return all(map(_is_literal, filter(None, node.keys + node.values)))
    return isinstance(node, ast.UnaryOp) and _is_literal(node.operand)
