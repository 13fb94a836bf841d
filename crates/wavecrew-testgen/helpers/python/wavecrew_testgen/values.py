"""Expressions for values of a kind: common ones, and ones made of constants in the code under test."""
import ast
import enum
import re

from . import patterns
from .type_hints import ANY, UNKNOWN

TEXTS = ("", "a", "abc", "hello world", "Hello World", "A", "foo_bar", "FooBar", "a b c", "123", "-5", "3.14", "0", " ",
         "  padded  ", "x,y,z", "a-b", "aa", "abcabc", "racecar", "UPPER", "MixedCase123", "é", "naïve café", "one two three",
         "line one\nline two", "a=1", "key: value", "(a)", "user@example.com", "2024-02-29", "10:30", "!?", "tab\there")
INTEGERS = (0, 1, 2, 3, -1, 4, 5, 7, 10, -3, 12, 15, 17, 20, 50, 97, 99, 100, 101, 255, 256, 1000, -100, 1234, 2024, 65536,
            1000000, -7)
FLOATS = (0.0, 1.0, 0.5, -1.5, 2.75, 3.14159, 10.0, 100.5, -0.25, 1e-3, 1234.5678, 99.99)
CALLABLES = {
    0: ("lambda: 0", "list", "dict", "lambda: 'made'"),
    1: ("str", "lambda x: x", "len", "bool", "lambda x: x % 2 == 0", "lambda x: x > 1", "sum", "lambda x: x * 2",
        "lambda x: None", "lambda x: x[0]", "str.upper", "list", "lambda x: not x", "lambda x: x[1] > 1", "abs"),
    2: ("lambda a, b: a + b", "max", "operator.add", "lambda a, b: a > b", "operator.mul", "lambda a, b: b"),
    3: ("lambda a, b, c: a", "max"),
}
DATES = ("datetime.date(2024, 2, 29)", "datetime.date(2023, 12, 31)", "datetime.date(2020, 1, 1)", "datetime.date(1999, 7, 4)",
         "datetime.date(2023, 6, 17)")
DATETIMES = ("datetime.datetime(2024, 2, 29, 13, 45, 30)", "datetime.datetime(2023, 12, 31, 23, 59, 59)",
             "datetime.datetime(2020, 1, 1)", "datetime.datetime(2021, 6, 15, 12, 0, tzinfo=datetime.timezone.utc)",
             "datetime.datetime(2000, 1, 1, 0, 0, 0, 250000)", "datetime.datetime(2022, 3, 5, 9, 7)")
UNITS = ("days", "seconds", "hours", "minutes", "microseconds", "milliseconds", "weeks")


class Pool:
    """Constants near some code: those of the function have more weight than those of its module."""

    def __init__(self, function_constants=(), module_constants=()):
        self.strings = []
        self.numbers = []
        self.patterns = []
        self.separators = []
        for values, share in ((function_constants, 3), (module_constants, 1)):
            for value in values:
                self.add(value, share)
        self._characters()

    def add(self, value, share=1):
        if isinstance(value, bool) or value is None:
            return
        if isinstance(value, str) and len(value) <= 60:
            self.strings.extend([value] * share)
        elif isinstance(value, (int, float)) and abs(value) < 10 ** 18 and value == value:
            self.numbers.extend([value] * share)

    def _characters(self):
        letters = "".join(text for text in self.strings if len(text) <= 12)
        self.characters = "".join(sorted(set(letters)))[:80]

    def composed(self, rng):
        """Parts joined by a separator at which the code splits."""
        between = rng.choice(self.separators)
        return between.join(self.part(rng, between) for _ in range(rng.choice((1, 2, 2, 3, 3, 4, 5))))

    def part(self, rng, between=None):
        """One part, which may have parts itself."""
        choice = rng.random()
        others = [other for other in self.separators if other != between]
        if between is not None and others and choice < 0.4:
            inner = rng.choice(others)
            return inner.join(self.part(rng) for _ in range(rng.choice((1, 2, 2, 3))))
        if choice < 0.6 and self.strings:
            return rng.choice([text for text in self.strings if len(text) <= 12] or [""])
        if choice < 0.85:
            return rng.choice(("1", "2", "3", "0", "12", "-4", "2.5", str(rng.randint(0, 99))))
        return rng.choice(("a", "b", "key", "x y", ""))

    def any_value(self, rng):
        choice = rng.random()
        if choice < 0.4 and self.numbers:
            return rng.choice(self.numbers)
        if choice < 0.7 and self.strings:
            return rng.choice(self.strings)
        return rng.choice((0, 1, 2, "a", "b", 3.5, True, None))

GRAPHS = 0.15  # share of dictionaries of unknown content
EMPTY_OF_UNKNOWN = 0.8  # share of lists without items, when nothing is known to be an item


class Maker:
    """Makes expressions. `classes` constructs objects of a class."""

    def __init__(self, rng, names, classes):
        self.rng = rng
        self.names = names
        self.classes = classes

    def make(self, kind, pool, depth=0):
        method = getattr(self, "_" + kind[0], None)
        return method(kind, pool, depth) if method else self._any(kind, pool, depth)

    def _any(self, _kind, pool, depth):
        choices = [("int",), ("str",), ("int",), ("str",), ("list", ("int",)), ("float",), ("bool",), ("none",)]
        if depth == 0:
            # No functions: their representation contains an address.
            choices += [("list", ("str",)), ("dict", ("str",), ("int",)), ("tuple", ("int",), ("int",)), ("set", ("int",))]
        return self.make(self.rng.choice(choices), pool, depth + 1)

    def _plain(self, _kind, pool, depth):
        """For a parameter of unknown kind: common values."""
        choice = self.rng.random()
        if choice < 0.45:
            return repr(self.rng.choice(("alice", "bob", "a", "hello", "x", "", "some text")))
        if choice < 0.85:
            return self._int(None, pool, depth)
        return self._any(None, pool, depth)

    def _none(self, _kind, _pool, _depth):
        return "None"

    def _bool(self, _kind, _pool, _depth):
        return self.rng.choice(("True", "False"))

    def _int(self, _kind, pool, _depth):
        rng = self.rng
        choice = rng.random()
        if choice < 0.35 and pool.numbers:
            return repr(int(rng.choice(pool.numbers)) + rng.choice((0, 0, 1, -1)))
        if choice < 0.75:
            return repr(INTEGERS[min(int(rng.expovariate(0.14)), len(INTEGERS) - 1)])
        if choice < 0.93:
            return repr(rng.randint(-20, 120))
        if choice < 0.96 and pool.numbers:
            return repr(self._multiple(pool))
        return repr(rng.choice((-1, 1)) * rng.randint(0, 10 ** rng.randint(1, 7)))

    def _multiple(self, pool):
        """A power or product of constants, for code that converts units."""
        rng = self.rng
        base, other = int(rng.choice(pool.numbers)), int(rng.choice(pool.numbers))
        made = base ** rng.randint(2, 5) if rng.random() < 0.6 and abs(base) < 10 ** 4 else base * other
        made += rng.choice((0, 0, 1, -1))
        return made if abs(made) < 10 ** 18 else base

    def _float(self, _kind, pool, _depth):
        rng = self.rng
        choice = rng.random()
        if choice < 0.3 and pool.numbers:
            return repr(rng.choice((float, float, int))(rng.choice(pool.numbers) + rng.choice((0, 0.5, -0.5, 0.01))))
        if choice < 0.6:
            return repr(rng.choice(FLOATS))
        if choice < 0.8:
            return self._int(None, pool, 0)
        return repr(round(rng.uniform(-100, 1000), rng.choice((0, 1, 2))))

    def _complex(self, _kind, _pool, _depth):
        return repr(complex(self.rng.randint(-3, 3), self.rng.randint(-3, 3)))

    def _str(self, _kind, pool, depth):
        return repr(self.text(pool, depth))

    def text(self, pool, depth=0):
        rng = self.rng
        if pool.separators and rng.random() < 0.2:
            return pool.composed(rng)
        choice = rng.random()
        if choice < 0.25 and pool.strings:
            text = rng.choice(pool.strings)
            if patterns.looks_like_format(text) and rng.random() < 0.6:
                return rng.choice(patterns.dates(text) or [text])
            if patterns.looks_like_regex(text) and rng.random() < 0.6:
                return rng.choice(patterns.matches(text, rng, 3) or [text])
            return rng.choice((text, text, text.upper(), text.title(), text + rng.choice(TEXTS), rng.choice(TEXTS) + text))
        if choice < 0.4 and pool.patterns:
            return rng.choice(patterns.matches(rng.choice(pool.patterns), rng, 3) or [""])
        if choice < 0.5 and pool.strings:
            short = [text for text in pool.strings if 0 < len(text) <= 3] or pool.strings
            words = [text for text in pool.strings if 1 <= len(text) <= 12] + ["a", "bc", "1", "22", "x"]
            return patterns.joined(rng.choice(short), rng, words)
        if choice < 0.85 or depth > 1:
            return TEXTS[min(int(rng.expovariate(0.1)), len(TEXTS) - 1)]
        letters = pool.characters if pool.characters and rng.random() < 0.6 else "abcdeABC019 _-."
        return "".join(rng.choice(letters) for _ in range(rng.randint(1, 8)))

    def _bytes(self, _kind, pool, depth):
        return repr(self.text(pool, depth).encode("utf-8", "ignore")[:40])

    def _list(self, kind, pool, depth):
        rng = self.rng
        inner = kind[1] if len(kind) > 1 else ANY
        if inner == ANY:
            inner = rng.choice((("int",), ("int",), ("str",)) if depth else
                               (("int",), ("int",), ("str",), ("any",), ("list", ("int",)), ("tuple", ("int",), ("int",))))
        count = rng.choice((0, 1, 2, 3, 3, 4, 5, 6) if depth < 2 else (0, 1, 2, 3))
        if inner == UNKNOWN and rng.random() < EMPTY_OF_UNKNOWN:
            count = 0
        items = [self.make(inner, pool, depth + 1) for _ in range(count)]
        if items and rng.random() < 0.25:
            items.append(rng.choice(items))
        text = ", ".join(items)
        return "[" + text + "]"

    def _tuple(self, kind, pool, depth):
        items = [self.make(part, pool, depth + 1) for part in kind[1:]]
        return "(" + ", ".join(items) + ("," if len(items) == 1 else "") + ")"

    def _set(self, kind, pool, depth):
        count = self.rng.choice((0, 1, 2, 3, 4))
        items = list(dict.fromkeys(self.make(kind[1], pool, depth + 1) for _ in range(count)))
        items = [item for item in items if item[0] not in "[{"]
        return "{" + ", ".join(items) + "}" if items else "set()"

    def _dict(self, kind, pool, depth):
        rng = self.rng
        if kind[1:] == (("str",), ANY) and depth == 0 and rng.random() < GRAPHS:
            return self._graph()
        count = rng.choice((0, 1, 2, 2, 3))
        pairs = {}
        for _ in range(count):
            key = self.make(kind[1], pool, depth + 1)
            if kind[1] in (("str",), ANY) and pool.strings and rng.random() < 0.6:
                key = repr(rng.choice(pool.strings))
            if key[0] not in "[{" and not key.startswith("lambda"):
                pairs[key] = self.make(kind[2], pool, depth + 1)
        return "{" + ", ".join(key + ": " + value for key, value in pairs.items()) + "}"

    def _graph(self):
        """A graph of numbered nodes with their successors, which many dictionaries represent."""
        nodes = range(self.rng.choice((2, 3, 4, 5)))
        return repr({node: sorted(self.rng.sample(nodes, self.rng.randrange(len(nodes)))) for node in nodes})

    def _iterator(self, kind, pool, depth):
        return "iter(%s)" % self._list(("list", kind[1]), pool, depth)

    def _callable(self, kind, pool, depth):
        choices = CALLABLES.get(min(kind[1], 3))
        if len(kind) > 2 and kind[2] == ("bool",) and kind[1] == 1:
            choices = tuple(c for c in choices if "%" in c or ">" in c or c == "bool" or "not" in c)
        return self.rng.choice(choices)

    def _type(self, kind, _pool, _depth):
        if len(kind) > 1 and kind[1] is dict:
            return self.rng.choice(("dict", "collections.OrderedDict", "dict"))
        return self.rng.choice(("int", "str", "list", "dict", "float"))

    def _literal(self, kind, pool, _depth):
        if self.rng.random() < 0.05:
            return self._str(None, pool, 0)
        value = self.rng.choice(kind[1:])
        if isinstance(value, enum.Enum):
            return self._enum(("enum", type(value)), pool, 0)
        return repr(value)

    def _union(self, kind, pool, depth):
        return self.make(self.rng.choice(kind[1:]), pool, depth)

    def _enum(self, kind, pool, _depth):
        name = self.names.make_importable(kind[1])
        members = list(kind[1].__members__)
        if name is None or not members:
            return self._str(None, pool, 1)
        return name + "." + self.rng.choice(members)

    def _class(self, kind, pool, depth):
        made = self.classes.expression(kind[1], self, pool, depth)
        return made if made is not None else self._any(kind, pool, depth + 1)

    def _date(self, _kind, pool, _depth):
        if self.rng.random() < 0.4:
            return "datetime.date(%d, %d, %d)" % (
                self.rng.randint(1990, 2030), self.rng.randint(1, 12), self.rng.randint(1, 28))
        return self.rng.choice(DATES)

    def _datetime(self, _kind, _pool, _depth):
        rng = self.rng
        if rng.random() < 0.4:
            return "datetime.datetime(%d, %d, %d, %d, %d)" % (
                rng.randint(1990, 2030), rng.randint(1, 12), rng.randint(1, 28), rng.randint(0, 23), rng.randint(0, 59))
        return rng.choice(DATETIMES)

    def _time(self, _kind, _pool, _depth):
        return "datetime.time(%d, %d, %d)" % (
            self.rng.randint(0, 23), self.rng.randint(0, 59), self.rng.choice((0, 0, 30)))

    def _timedelta(self, _kind, pool, _depth):
        rng = self.rng
        parts = []
        for unit in rng.sample(UNITS, rng.choice((0, 1, 1, 2))):
            parts.append("%s=%s" % (unit, self._int(None, pool, 0)))
        return "datetime.timedelta(%s)" % ", ".join(parts)

    def _tzinfo(self, _kind, _pool, _depth):
        return self.rng.choice(("datetime.timezone.utc", "datetime.timezone(datetime.timedelta(hours=2))"))

    def _decimal(self, _kind, pool, _depth):
        return "decimal.Decimal(%r)" % str(self._float(None, pool, 0))

    def _fraction(self, _kind, _pool, _depth):
        return "fractions.Fraction(%d, %d)" % (self.rng.randint(-9, 9), self.rng.randint(1, 9))

    def _uuid(self, _kind, _pool, _depth):
        return "uuid.UUID('12345678-1234-5678-1234-56781234567%d')" % self.rng.randint(0, 9)

    def _path(self, _kind, pool, _depth):
        text = self.rng.choice(("a/b.txt", "file.txt", "/tmp/x/y.tar.gz", "folder", "..", "a.py", self.text(pool, 1)))
        return "pathlib.Path(%r)" % text.replace("\0", "")

    def _pattern(self, _kind, pool, _depth):
        texts = [text for text in pool.strings if patterns.looks_like_regex(text)] or [r"\d+", "[a-z]+", r"(\w+) (\w+)"]
        return "re.compile(%r)" % self.rng.choice(texts)

    def _match(self, _kind, pool, _depth):
        if pool.patterns and self.rng.random() < 0.7:
            pattern = self.rng.choice(pool.patterns).pattern
            text = self.rng.choice(patterns.matches(pattern, self.rng, 2) or ["1"])
            return "re.search(%r, %r)" % (pattern, text)
        return self.rng.choice((r"re.search('(\\d+)', 'a 12 b')", r"re.match('(\\w+)-(\\w+)', 'ab-cd')"))

    def _range(self, _kind, _pool, _depth):
        return "range(%d)" % self.rng.randint(0, 6)

    def _slice(self, _kind, _pool, _depth):
        return self.rng.choice(("slice(0, 2)", "slice(1, None)", "slice(None, None, 2)"))

    def _textio(self, _kind, pool, _depth):
        return "io.StringIO(%r)" % self.text(pool, 1)

    def _bytesio(self, _kind, pool, _depth):
        return "io.BytesIO(%r)" % self.text(pool, 1).encode("utf-8", "ignore")


def constants(tree):
    """Constants of a syntax tree, without docstrings."""
    docs = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            docs.add(id(body[0].value))
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in docs and not isinstance(node.value, (bool, type(None))):
            if isinstance(node.value, (str, int, float)):
                found.append(node.value)
                if isinstance(node.value, str) and 2 < len(node.value) <= 40:
                    found.extend(part for part in re.split(r"[\s{}%]+", node.value) if 1 < len(part) < len(node.value))
    return found


def separators(tree):
    """Separators at which code splits strings."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            method, args = node.func.attr, [arg.value for arg in node.args[:1] if isinstance(arg, ast.Constant)]
            if method == "splitlines":
                found.append("\n")
            elif method in ("split", "rsplit") and not node.args:
                found.append(" ")
            elif method in ("split", "rsplit", "partition", "rpartition") and args and isinstance(args[0], str) and args[0]:
                found.append(args[0])
    return list(dict.fromkeys(found))


def patterns_of(namespace):
    """Compiled regular expressions among module globals, class attributes and containers."""
    found = []
    todo = [(value, 0) for value in namespace.values()]
    while todo:
        value, depth = todo.pop(0)
        if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
            found.append(value)
        elif depth < 2 and isinstance(value, (list, tuple)) and len(value) < 200:
            todo.extend((item, depth + 1) for item in value)
            if value and isinstance(value[0], str) and patterns.looks_like_regex(value[0]):
                try:
                    found.append(re.compile(value[0]))
                except re.error:
                    pass
        elif depth < 2 and isinstance(value, dict) and len(value) < 200:
            todo.extend((item, depth + 1) for item in value.values())
        elif depth == 0 and isinstance(value, type):
            todo.extend((item, 1) for item in vars(value).values())
    return found[:80]
