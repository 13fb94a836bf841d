"""A case: one call with its setup, as source text."""
import builtins
import keyword


class Case:
    """`target` is called with `args`: pairs of a parameter name (None for positional) and an expression.

    For methods, `receiver` is the expression that constructs the object, and `steps` are earlier calls on it.
    """

    __slots__ = ("target", "receiver", "steps", "args", "_key", "_hash")

    def __init__(self, target, args, receiver=None, steps=()):
        self.target = target
        self.args = tuple(args)
        self.receiver = receiver
        self.steps = tuple(steps)
        self._key = (self.target, self.receiver, self.steps, self.args)
        self._hash = hash(self._key)

    def key(self):
        return self._key

    def __eq__(self, other):
        return self._key == other._key

    def __hash__(self):
        return self._hash

    def size(self):
        """The amount of text to read."""
        text = sum(len(source) for _, source in self.args) + len(self.receiver or "")
        return text + sum(20 + sum(len(source) for _, source in args) for _, args in self.steps)

    def with_args(self, args):
        return Case(self.target, args, self.receiver, self.steps)

    def data(self):
        return [self.target, [list(a) for a in self.args], self.receiver,
                [[name, [list(a) for a in args]] for name, args in self.steps]]

    @staticmethod
    def of(data):
        target, args, receiver, steps = data
        return Case(
            target, [tuple(a) for a in args], receiver,
            [(name, tuple(tuple(a) for a in args)) for name, args in steps],
        )


def arguments(args):
    return ", ".join(source if name is None else name + "=" + source for name, source in args)


OPERATORS = {
    "__eq__": "==", "__ne__": "!=", "__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">=", "__add__": "+",
    "__sub__": "-", "__mul__": "*", "__truediv__": "/", "__floordiv__": "//", "__mod__": "%", "__and__": "&",
    "__or__": "|", "__xor__": "^", "__pow__": "**", "__matmul__": "@", "__lshift__": "<<", "__rshift__": ">>",
}
REFLECTED = {
    "__radd__": "+", "__rsub__": "-", "__rmul__": "*", "__rtruediv__": "/", "__rfloordiv__": "//", "__rmod__": "%",
    "__rand__": "&", "__ror__": "|", "__rxor__": "^", "__rpow__": "**",
}
UNARY = {"__neg__": "-{}", "__pos__": "+{}", "__abs__": "abs({})", "__invert__": "~{}", "__len__": "len({})",
         "__str__": "str({})", "__repr__": "repr({})", "__bool__": "bool({})", "__hash__": "hash({})",
         "__iter__": "list({})", "__int__": "int({})", "__float__": "float({})", "__next__": "next({})",
         "__bytes__": "bytes({})", "__reversed__": "list(reversed({}))", "__complex__": "complex({})",
         "__index__": "[10, 20, 30][{}]"}


def method_call(subject, name, args):
    """A method call as a person would write it: operators instead of special methods."""
    plain = len(args) == 1 and args[0][0] is None
    if name in OPERATORS and plain:
        return "%s %s %s" % (subject, OPERATORS[name], _operand(args[0][1]))
    if name in REFLECTED and plain:
        return "%s %s %s" % (_operand(args[0][1]), REFLECTED[name], subject)
    if name in UNARY and not args:
        return UNARY[name].format(subject)
    if name == "__getitem__" and plain:
        return "%s[%s]" % (subject, args[0][1])
    if name == "__contains__" and plain:
        return "%s in %s" % (_operand(args[0][1]), subject)
    if name == "__call__":
        return "%s(%s)" % (subject, arguments(args))
    return "%s.%s(%s)" % (subject, name, arguments(args))


def method_statement(subject, name, args):
    """A method call as a statement: assignments and deletions of items instead of special methods."""
    plain = all(given is None for given, _ in args)
    if name == "__setitem__" and len(args) == 2 and plain:
        return "%s[%s] = %s" % (subject, args[0][1], args[1][1])
    if name == "__delitem__" and len(args) == 1 and plain:
        return "del %s[%s]" % (subject, args[0][1])
    return method_call(subject, name, args)


def _operand(source):
    return "(%s)" % source if source.startswith("lambda") or " " in source and source[0] not in "'\"([{" else source


def subject_name(class_name):
    """The variable name for an object in a test: `http_version` for `HTTPVersion`."""
    name = ""
    for index, char in enumerate(class_name.strip("_")):
        before = class_name.strip("_")[index - 1] if index else ""
        if char.isupper() and before and not before.isupper() and before != "_":
            name += "_"
        name += char.lower()
    if keyword.iskeyword(name) or hasattr(builtins, name) or not name.isidentifier() or name == class_name:
        name = "subject"
    return name
