"""Small faults, planted one at a time: tests that do not notice them are too weak.

A mutant is a change of a syntax tree. A `Swapper` compiles the function around the fault and puts its code in place of the
original's. `changed` makes the tree of a fault. Faults outside of function bodies are the business of `outside`.
"""
import ast
import copy

COMPARISONS = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
ARITHMETIC = {
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div, ast.Add), ast.Div: (ast.Mult,), ast.FloorDiv: (ast.Div,),
    ast.Mod: (ast.Mult,), ast.Pow: (ast.Mult,), ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,),
    ast.BitXor: (ast.BitAnd,), ast.LShift: (ast.RShift,), ast.RShift: (ast.LShift,),
}
METHODS = {"lower": "upper", "upper": "lower", "lstrip": "rstrip", "rstrip": "lstrip", "startswith": "endswith",
           "endswith": "startswith", "find": "rfind", "append": "remove", "split": "rsplit", "min": "max", "max": "min"}


class Mutant:
    __slots__ = ("line", "what", "function", "change", "code")

    def __init__(self, line, what, function, change):
        self.line = line
        self.what = what
        self.function = function  # the outermost function definition around the fault
        self.change = change  # a pair: index of the node in a walk over the function, how to change the copy
        self.code = None


def mutants(functions):
    """All mutants of some function definitions, in a fixed order."""
    found = []
    for function in functions:
        skipped = docstrings(function) | annotations(function)
        for index, node in enumerate(ast.walk(function)):
            if id(node) in skipped:
                continue
            for what, change in changes(node):
                found.append(Mutant(getattr(node, "lineno", function.lineno), what, function, (index, change)))
    return found


def annotations(function, decorators=True):
    """Nodes of annotations, which do nothing at run time."""
    roots = []
    for node in ast.walk(function):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            roots.append(node.returns)
            roots.extend(node.decorator_list if node is function and decorators else ())
            for arg in ast.walk(node.args):
                if isinstance(arg, ast.arg):
                    roots.append(arg.annotation)
            if node is function:
                roots.extend(node.args.defaults + node.args.kw_defaults)
        elif isinstance(node, ast.AnnAssign):
            roots.append(node.annotation)
    return {id(part) for root in roots if root is not None for part in ast.walk(root)}


def docstrings(function):
    found = set()
    for node in ast.walk(function):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            if isinstance(body[0].value, ast.Constant):
                found.update((id(body[0]), id(body[0].value)))
    return found


def changes(node):
    """Pairs of a description and a function that changes a copy of the node, returning its replacement or None."""
    if isinstance(node, ast.Compare):
        for position, op in enumerate(node.ops):
            for other in COMPARISONS.get(type(op), ()):
                yield "%s to %s" % (type(op).__name__, other.__name__), _set_operator(position, other)
    elif isinstance(node, (ast.BinOp, ast.AugAssign)):
        for other in ARITHMETIC.get(type(node.op), ()):
            yield "%s to %s" % (type(node.op).__name__, other.__name__), _set_field("op", other)
    elif isinstance(node, ast.BoolOp):
        other = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield "and/or", _set_field("op", other)
        yield "first operand only", lambda copy: copy.values[0]
        yield "last operand only", lambda copy: copy.values[-1]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield "without " + type(node.op).__name__, lambda copy: copy.operand
    elif isinstance(node, ast.Constant):
        for change in _constants(node):
            yield change
    elif isinstance(node, (ast.If, ast.While, ast.IfExp)):
        yield "condition negated", _negate
        if not isinstance(node, ast.While):
            yield "condition true", _set_test(True)
        yield "condition false", _set_test(False)
    elif isinstance(node, ast.Return) and node.value is not None:
        if not (isinstance(node.value, ast.Constant) and node.value.value is None):
            yield "returns None", lambda copy: ast.copy_location(ast.Return(ast.Constant(None)), copy)
    elif isinstance(node, (ast.Break, ast.Continue)):
        other = ast.Continue if isinstance(node, ast.Break) else ast.Break
        yield "break/continue", lambda copy: other()
    elif isinstance(node, (ast.Expr, ast.AugAssign, ast.Raise)) and not _is_yield(node):
        yield "removed", lambda copy: ast.Pass()
    elif isinstance(node, ast.Assign):
        if not isinstance(node.value, ast.Constant) or node.value.value is not None:
            yield "assigns None", _assign_none
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
            yield "calls " + METHODS[node.func.attr], _set_method
    elif isinstance(node, ast.Slice):
        if node.lower is not None:
            yield "slice from the start", _set_none("lower")
        if node.upper is not None:
            yield "slice to the end", _set_none("upper")


def _is_yield(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, (ast.Yield, ast.YieldFrom, ast.Await))


def _constants(node):
    value = node.value
    if isinstance(value, bool):
        yield "%r to %r" % (value, not value), _set_value(not value)
    elif isinstance(value, (int, float)):
        yield "%r to %r" % (value, value + 1), _set_value(value + 1)
        yield "%r to %r" % (value, value - 1), _set_value(value - 1)
    elif isinstance(value, str):
        yield "%r changed" % value[:20], _set_value("XX" + value + "XX")
        if value:
            yield "%r emptied" % value[:20], _set_value("")
    elif value is None:
        yield "None to ''", _set_value("")


def _set_value(value):
    def change(copy):
        copy.value = value

    return change


def _set_operator(position, other):
    def change(copy):
        copy.ops[position] = other()

    return change


def _set_field(field, other):
    def change(copy):
        setattr(copy, field, other())

    return change


def _set_none(field):
    def change(copy):
        setattr(copy, field, None)

    return change


def _set_test(value):
    def change(copy):
        copy.test = ast.copy_location(ast.Constant(value), copy.test)

    return change


def _set_method(copy):
    copy.func.attr = METHODS[copy.func.attr]


def _assign_none(copy):
    copy.value = ast.copy_location(ast.Constant(None), copy.value)


def _negate(copy):
    copy.test = ast.copy_location(ast.UnaryOp(ast.Not(), copy.test), copy.test)


class _Replace(ast.NodeTransformer):
    def __init__(self, old, new):
        self.old, self.new = old, new

    def visit(self, node):
        return self.new if node is self.old else self.generic_visit(node)


def changed(mutant):
    """The function definition with the fault in it."""
    function = copy.deepcopy(mutant.function)
    index, change = mutant.change
    for position, node in enumerate(ast.walk(function)):
        if position == index:
            break
    new = change(node)
    if new is not None:
        ast.copy_location(new, node)
        function = _Replace(node, new).visit(function)
    return ast.fix_missing_locations(function)
