"""Records what a function compares, looks up, matches and converts.

The functions are rewritten so that operands pass through a `Probe`. Only interesting cases run with probes.
"""
import ast
import builtins
import copy
import re

NAME = "__wavecrew_probe__"
MAX_RECORDS = 400
METHODS = {
    "startswith", "endswith", "find", "rfind", "index", "count", "split", "rsplit", "partition", "rpartition", "replace",
    "strip", "match", "search", "fullmatch", "findall", "finditer", "sub", "subn", "strptime", "get", "fromisoformat",
}


class Probe:
    def __init__(self):
        self.pairs = []
        self.pending = {}
        self.methods = []
        self.checks = []
        self.conversions = []

    def clear(self):
        self.__init__()

    def see(self, key, operator, position, value):
        if position and key in self.pending and len(self.pairs) < MAX_RECORDS:
            self.pairs.append((operator, self.pending[key], value))
        self.pending[key] = value
        return value

    def method(self, owner, name):
        real = getattr(owner, name)

        def call(*args, **kwargs):
            if len(self.methods) < MAX_RECORDS:
                self.methods.append((name, owner, args))
            return real(*args, **kwargs)

        return call

    def isinstance(self, value, kind):
        if len(self.checks) < MAX_RECORDS:
            self.checks.append((value, kind))
        return builtins.isinstance(value, kind)

    def convert(self, kind):
        def call(*args, **kwargs):
            if args and len(self.conversions) < MAX_RECORDS:
                self.conversions.append((kind.__name__, args[0]))
            return kind(*args, **kwargs)

        return call


class _Rewrite(ast.NodeTransformer):
    def __init__(self):
        self.count = 0

    def _see(self, key, operator, position, node):
        return ast.Call(
            func=_probe("see"), keywords=[],
            args=[ast.Constant(key), ast.Constant(operator), ast.Constant(position), node],
        )

    def visit_Compare(self, node):
        self.generic_visit(node)
        self.count += 1
        key = self.count
        node.left = self._see(key, "", 0, node.left)
        node.comparators = [
            self._see(key, type(op).__name__, index + 1, each)
            for index, (op, each) in enumerate(zip(node.ops, node.comparators))
        ]
        return node

    def visit_Subscript(self, node):
        self.generic_visit(node)
        index = node.slice
        if not isinstance(node.ctx, ast.Load) or isinstance(index, (ast.Slice, getattr(ast, "ExtSlice", ast.Slice))):
            return node
        if isinstance(index, ast.Tuple) or type(index).__name__ == "Constant":
            return node
        self.count += 1
        node.value = self._see(self.count, "", 0, node.value)
        if type(index).__name__ == "Index":
            index.value = self._see(self.count, "Item", 1, index.value)
        else:
            node.slice = self._see(self.count, "Item", 1, index)
        return node

    def visit_Call(self, node):
        self.generic_visit(node)
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in METHODS:
            node.func = ast.Call(func=_probe("method"), args=[function.value, ast.Constant(function.attr)], keywords=[])
        elif isinstance(function, ast.Name) and function.id == "isinstance" and len(node.args) == 2:
            node.func = _probe("isinstance")
        elif isinstance(function, ast.Name) and function.id in ("int", "float"):
            node.func = ast.Call(func=_probe("convert"), args=[ast.Name(function.id, ast.Load())], keywords=[])
        return node

    def visit_AnnAssign(self, node):
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_arguments(self, node):
        return node


def _probe(name):
    return ast.Attribute(value=ast.Name(NAME, ast.Load()), attr=name, ctx=ast.Load())


class Probes:
    """Runs a case with probes in all functions of the module."""

    def __init__(self, replacer, functions):
        self.probe = Probe()
        self.replacer = replacer
        setattr(builtins, NAME, self.probe)
        self.codes = []
        for function in functions:
            rewritten = _Rewrite()
            body = copy.deepcopy(function)
            body.body = [rewritten.visit(statement) for statement in body.body]
            code = replacer.compile(ast.fix_missing_locations(body))
            if code is not None:
                self.codes.append(code)

    def watch(self, run):
        """Calls `run` with probes and returns what they recorded."""
        self.probe.clear()
        for code in self.codes:
            self.replacer.replace(code)
        try:
            run()
        finally:
            self.replacer.restore()
        return self.probe


def is_pattern(value):
    return isinstance(value, re.Pattern) and isinstance(value.pattern, str)
