"""Mutants of functions: small changes of their syntax trees.

`Applied` applies a mutant to the tree and reverts it. `CodeReplacer` compiles the changed function and replaces the original
code. See `module_mutants` for code outside of functions.
"""
import ast

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
    __slots__ = ("line", "what", "function", "node", "parent", "place", "change", "code")

    def __init__(self, what, function, node, parent, place, change):
        self.line = getattr(node, "lineno", getattr(parent, "lineno", 0))
        self.what = what
        self.function = function  # the tree to compile
        self.node = node
        self.parent = parent
        self.place = place
        self.change = change
        self.code = None


def find_mutants(functions):
    """All mutants of function definitions, in a fixed order."""
    found = []
    for function in functions:
        skipped = docstrings(function) | annotations(function)
        for node, parent, place in nodes_with_parents(function):
            if id(node) in skipped:
                continue
            for what, change in changes(node):
                found.append(Mutant(what, function, node, parent, place, change))
    return found


def annotations(function, decorators=True):
    """Nodes of annotations, which have no effect at run time."""
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
    """Pairs of a description and a function that changes the node or returns a replacement."""
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
        yield "first operand only", lambda node: node.values[0]
        yield "last operand only", lambda node: node.values[-1]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield "without " + type(node.op).__name__, lambda node: node.operand
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
            yield "returns None", lambda node: ast.copy_location(ast.Return(ast.Constant(None)), node)
    elif isinstance(node, (ast.Break, ast.Continue)):
        other = ast.Continue if isinstance(node, ast.Break) else ast.Break
        yield "break/continue", lambda node: other()
    elif isinstance(node, (ast.Expr, ast.AugAssign, ast.Raise)) and not _is_yield(node):
        yield "removed", lambda node: ast.Pass()
    elif isinstance(node, ast.Assign):
        if not isinstance(node.value, ast.Constant) or node.value.value is not None:
            yield "assigns None", _assign_none
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
            yield "calls " + METHODS[node.func.attr], _set_method
        elif isinstance(node.func, ast.Name) and node.func.id == "sorted" and node.args:
            yield "not sorted", lambda node: ast.Call(func=ast.Name("list", ast.Load()), args=node.args[:1], keywords=[])
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
    def change(node):
        node.value = value

    return change


def _set_operator(position, other):
    def change(node):
        node.ops[position] = other()

    return change


def _set_field(field, other):
    def change(node):
        setattr(node, field, other())

    return change


def _set_none(field):
    def change(node):
        setattr(node, field, None)

    return change


def _set_test(value):
    def change(node):
        node.test = ast.copy_location(ast.Constant(value), node.test)

    return change


def _set_method(node):
    # A new call, because only the node itself is reverted, not its children.
    called = ast.Attribute(value=node.func.value, attr=METHODS[node.func.attr], ctx=ast.Load())
    return ast.Call(func=ast.copy_location(called, node.func), args=node.args, keywords=node.keywords)


def _assign_none(node):
    node.value = ast.copy_location(ast.Constant(None), node.value)


def _negate(node):
    node.test = ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)


class Applied:
    """Applies a mutant to the tree for a `with` block. Makes no copy, because trees can be large."""

    def __init__(self, mutant):
        self.mutant = mutant

    def __enter__(self):
        mutant = self.mutant
        node = mutant.node
        self.saved = {name: list(value) if isinstance(value, list) else value for name, value in vars(node).items()}
        new = mutant.change(node)
        if new is not None:
            if not hasattr(new, "lineno"):
                ast.copy_location(new, node)
            ast.fix_missing_locations(new)
            _put(mutant.parent, mutant.place, new)
        return mutant.function

    def __exit__(self, *_):
        mutant = self.mutant
        vars(mutant.node).clear()
        vars(mutant.node).update(self.saved)
        _put(mutant.parent, mutant.place, mutant.node)


def _put(parent, place, node):
    field, index = place
    if index is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[index] = node


def nodes_with_parents(tree):
    """Every node below a tree, with its parent and its place there."""
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if isinstance(value, list):
                for index, item in enumerate(value):
                    if isinstance(item, ast.AST):
                        yield item, parent, (field, index)
            elif isinstance(value, ast.AST):
                yield value, parent, (field, None)
