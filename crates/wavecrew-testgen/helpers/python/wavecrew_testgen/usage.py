"""What the body of a function does with its parameters, and what kinds of values that suggests."""
import ast
import collections
import datetime
import decimal
import pathlib

from .type_hints import ANY

METHODS_OF = [
    (str, ("str",)), (list, ("list", ANY)), (dict, ("dict", ("str",), ANY)), (set, ("set", ("int",))),
    (datetime.datetime, ("datetime",)), (datetime.date, ("date",)), (datetime.timedelta, ("timedelta",)),
    (bytes, ("bytes",)), (pathlib.Path, ("path",)), (decimal.Decimal, ("decimal",)), (float, ("float",)),
]
TYPE_NAMES = {
    "str": ("str",), "int": ("int",), "float": ("float",), "bool": ("bool",), "list": ("list", ANY), "bytes": ("bytes",),
    "tuple": ("list", ANY), "dict": ("dict", ("str",), ANY), "set": ("set", ("int",)), "datetime": ("datetime",),
    "date": ("date",), "timedelta": ("timedelta",), "Decimal": ("decimal",), "Mapping": ("dict", ("str",), ANY),
    "Sequence": ("list", ANY), "Iterable": ("list", ANY), "basestring": ("str",), "bytearray": ("bytes",),
    "frozenset": ("set", ("int",)), "complex": ("complex",), "Path": ("path",), "time": ("time",),
}
NUMERIC = (ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr,
           ast.BitXor)


class Use:
    """Evidence about one parameter: kinds with weights, and types from `isinstance` checks."""

    def __init__(self):
        self.kinds = collections.Counter()
        self.attributes = set()
        self.checked = []
        self.called = None
        self.elements = None

    def add(self, kind, weight=1):
        self.kinds[kind] += weight


def uses(function, parameters, calls=None):
    """Evidence about each parameter in the syntax tree of a function.

    `calls` returns the kinds of variables that are passed to another function of the module.
    """
    found = {name: Use() for name in parameters}
    loops = {}
    for node in ast.walk(function):
        _visit(node, found, loops, calls)
    for variable, owner in loops.items():
        inner = uses_of_variable(function, variable)
        if inner != ANY and owner in found:
            found[owner].elements = inner
    return found


def uses_of_variable(function, variable):
    """The likeliest kind of a loop variable."""
    use = {variable: Use()}
    for node in ast.walk(function):
        _visit(node, use, {}, None)
    return best(use[variable])


def _name(node, found):
    return node.id if isinstance(node, ast.Name) and node.id in found else None


def _visit(node, found, loops, calls):
    if isinstance(node, ast.Attribute):
        name = _name(node.value, found)
        if name and isinstance(node.ctx, ast.Load):
            found[name].attributes.add(node.attr)
    elif isinstance(node, ast.BinOp):
        _binary(node, found)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Invert)):
        name = _name(node.operand, found)
        if name:
            found[name].add(("int",), 2)
    elif isinstance(node, ast.Compare):
        _compare(node, found)
    elif isinstance(node, (ast.For, ast.comprehension)):
        _loop(node, found, loops)
    elif isinstance(node, ast.Subscript):
        _subscript(node, found)
    elif isinstance(node, ast.Call):
        _call(node, found, calls)
    elif isinstance(node, ast.JoinedStr):
        pass


def _binary(node, found):
    for side, other in ((node.left, node.right), (node.right, node.left)):
        name = _name(side, found)
        if not name:
            continue
        if isinstance(other, ast.Constant):
            if isinstance(other.value, str):
                found[name].add(("str",), 3)
            elif isinstance(other.value, float):
                found[name].add(("float",), 3)
            elif isinstance(other.value, int):
                found[name].add(("int",), 3)
        elif isinstance(other, (ast.List, ast.ListComp)):
            found[name].add(("list", ANY), 3)
        elif isinstance(node.op, NUMERIC) and not (isinstance(node.op, ast.Mod) and side is node.right):
            found[name].add(("int",), 2)


def _compare(node, found):
    sides = [node.left] + node.comparators
    for index, op in enumerate(node.ops):
        left, right = sides[index], sides[index + 1]
        if isinstance(op, (ast.In, ast.NotIn)):
            name = _name(left, found)
            if name and isinstance(right, (ast.Tuple, ast.List, ast.Set)):
                for item in right.elts:
                    _constant(item, found[name], 2)
            elif name and isinstance(right, ast.Constant) and isinstance(right.value, str):
                found[name].add(("str",), 3)
            name = _name(right, found)
            if name:
                if isinstance(left, ast.Constant) and isinstance(left.value, str):
                    found[name].add(("str",), 2)
                    found[name].add(("dict", ("str",), ANY), 2)
                else:
                    found[name].add(("list", ANY), 1)
            continue
        for side, other in ((left, right), (right, left)):
            name = _name(side, found)
            if name:
                _constant(other, found[name], 3)


def _constant(node, use, weight):
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            use.add(("bool",), weight)
        elif isinstance(node.value, int):
            use.add(("int",), weight)
        elif isinstance(node.value, float):
            use.add(("float",), weight)
        elif isinstance(node.value, str):
            use.add(("str",), weight)
        elif isinstance(node.value, bytes):
            use.add(("bytes",), weight)
    elif isinstance(node, (ast.List, ast.Tuple)):
        use.add(("list", ANY), weight)
    elif isinstance(node, ast.Dict):
        use.add(("dict", ("str",), ANY), weight)


def _loop(node, found, loops):
    iterated = node.iter
    if isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Name) and iterated.args:
        if iterated.func.id in ("enumerate", "reversed", "sorted", "iter", "zip", "set", "list", "tuple"):
            iterated = iterated.args[0]
    name = _name(iterated, found)
    if not name:
        return
    found[name].add(("list", ANY), 3)
    found[name].add(("str",), 1)
    target = node.target
    if isinstance(target, ast.Tuple) and isinstance(node.iter, ast.Call) and len(target.elts) == 2:
        if isinstance(node.iter.func, ast.Name) and node.iter.func.id == "enumerate":
            target = target.elts[1]
    if isinstance(target, ast.Name):
        loops[target.id] = name
    elif isinstance(target, ast.Tuple):
        found[name].elements = ("tuple",) + (("int",),) * len(target.elts)


def _subscript(node, found):
    name = _name(node.value, found)
    if name:
        index = node.slice
        if isinstance(index, getattr(ast, "Index", ())):
            index = getattr(index, "value", index)
        if isinstance(index, ast.Constant) and isinstance(index.value, str):
            found[name].add(("dict", ("str",), ANY), 4)
        elif isinstance(index, ast.Slice):
            found[name].add(("str",), 2)
            found[name].add(("list", ANY), 2)
        else:
            found[name].add(("list", ANY), 2)
            found[name].add(("str",), 1)
    index_name = _name(node.slice, found)
    if index_name:
        found[index_name].add(("int",), 1)


def _call(node, found, calls):
    function = node.func
    if isinstance(function, ast.Name):
        name = _name(function, found)
        if name:
            found[name].called = len(node.args)
            found[name].add(("callable", len(node.args), ANY), 6)
        first = _name(node.args[0], found) if node.args else None
        if first:
            _builtin(function.id, node, found[first])
        if calls is not None:
            for name, kind in calls(function.id, node):
                if name in found:
                    found[name].add(kind, 2)
    elif isinstance(function, ast.Attribute) and isinstance(function.value, ast.Constant):
        if isinstance(function.value.value, str) and function.attr == "join" and node.args:
            name = _name(node.args[0], found)
            if name:
                found[name].add(("list", ("str",)), 4)
    elif isinstance(function, ast.Attribute) and node.args:
        position = 1 if isinstance(function.value, ast.Name) and function.value.id == "re" else 0
        if function.attr in ("match", "search", "fullmatch", "findall", "finditer", "split", "sub", "strptime"):
            if position and function.attr == "sub":
                position = 2
            for arg in node.args[position:position + 1]:
                name = _name(arg, found)
                if name:
                    found[name].add(("str",), 4)


def _builtin(called, node, use):
    if called == "isinstance" and len(node.args) == 2:
        types = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
        for kind in types:
            word = kind.id if isinstance(kind, ast.Name) else kind.attr if isinstance(kind, ast.Attribute) else ""
            if word in TYPE_NAMES:
                use.add(TYPE_NAMES[word], 2)
            use.checked.append(word)
    elif called in ("len", "sum", "sorted", "max", "min", "enumerate", "list", "set", "tuple", "any", "all", "reversed"):
        if len(node.args) == 1:
            use.add(("list", ("int",) if called == "sum" else ANY), 2)
            if called in ("len", "list", "set", "reversed", "enumerate"):
                use.add(("str",), 1)
    elif called in ("range", "chr", "bin", "hex", "oct", "abs", "round", "divmod", "pow"):
        use.add(("int",), 3)
    elif called in ("int", "float"):
        use.add(("str",), 1)
        use.add((called,), 2)
    elif called == "ord":
        use.add(("str",), 3)


def best(use):
    """The likeliest kind, or `ANY`."""
    ranked = ranking(use)
    return ranked[0][0] if ranked else ANY


def ranking(use):
    """Kinds with weights, the likeliest first."""
    weights = collections.Counter(use.kinds)
    if use.attributes:
        for kind, meaning in METHODS_OF:
            has = [name for name in use.attributes if hasattr(kind, name)]
            if has and len(has) == len(use.attributes):
                weights[meaning] += 6 if kind in (str, list, dict) else 4
            elif has:
                weights[meaning] += 1
    if use.elements is not None:
        for kind in list(weights):
            if kind[0] == "list" and kind[1] == ANY:
                weights[("list", use.elements)] = weights.pop(kind) + 2
    return sorted(weights.items(), key=lambda item: (-item[1], repr(item[0])))
