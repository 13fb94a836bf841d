"""Small changes of the literals in expressions."""
import ast

from .literals import literal

MAX_LENGTH = 160
EXTRA = "abzAZ019 _-.,:;/!?#@+*=()[]{}<>'\"\\\n\té"


class Variation:
    def __init__(self, rng, pool):
        self.rng = rng
        self.pool = pool

    def expression(self, source):
        """A changed expression, or the same one when it contains no literal."""
        plain, value = literal(source)
        if plain:
            changed = repr(self.value(value))
        else:
            changed = self._inside(source)
        return changed if len(changed) <= MAX_LENGTH and "inf" not in changed and "nan" not in changed else source

    def _inside(self, source):
        """Changes one literal in a larger expression."""
        try:
            tree = ast.parse(source, mode="eval")
        except SyntaxError:
            return source
        whole = source.encode()
        if b"\n" in whole:
            return source
        choices = [
            node for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and not isinstance(node.value, type(Ellipsis))
            and node.end_col_offset is not None
        ]
        joined = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
        choices = [node for node in choices if id(node) not in joined]
        if not choices:
            return source
        node = self.rng.choice(choices)
        changed = repr(self.value(node.value)).encode()
        return (whole[:node.col_offset] + changed + whole[node.end_col_offset:]).decode()

    def value(self, value, depth=0):
        if value is None:
            return None
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            return self.integer(value)
        if isinstance(value, float):
            return self.number(value)
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bytes):
            return self.text(value.decode("latin-1")).encode("latin-1", "ignore")
        if isinstance(value, (list, tuple)):
            changed = self.items(list(value), depth)
            return changed if isinstance(value, list) else tuple(changed)
        if isinstance(value, (set, frozenset)):
            items = self.items(sorted(value, key=repr), depth)
            try:
                return set(items) if items else value
            except TypeError:
                return value
        if isinstance(value, dict):
            return self.mapping(dict(value), depth)
        return value

    def integer(self, value):
        rng = self.rng
        choice = rng.randrange(9)
        if choice < 3:
            return value + rng.choice((-1, 1, -2, 2))
        if choice == 3:
            return -value
        if choice == 4:
            return rng.choice((value * 2, value // 2, value * 10, value // 10))
        if choice == 5 and self.pool.numbers:
            other = int(rng.choice(self.pool.numbers))
            changed = rng.choice((value + other, value - other, value * other, value // (other or 1)))
            return changed if abs(changed) < 10 ** 18 else value
        if choice == 6 and self.pool.numbers:
            return int(rng.choice(self.pool.numbers)) + rng.choice((-1, 0, 1))
        return rng.choice((0, 1, -1, 2, 3, 5, 7, 10, 12, 100, rng.randint(-20, 20), rng.randint(0, 1000)))

    def number(self, value):
        rng = self.rng
        choice = rng.randrange(6)
        if choice == 0:
            return -value
        if choice == 1:
            return value + rng.choice((0.5, -0.5, 1.0, -1.0, 0.25))
        if choice == 2:
            return value * rng.choice((0.1, 10.0, 2.0, 0.5, 1000.0))
        if choice == 3 and self.pool.numbers:
            return float(rng.choice(self.pool.numbers)) + rng.choice((0.0, 0.5, -0.5, 0.01))
        return rng.choice((0.0, 0.5, 1.5, -2.5, 3.14, 99.99, round(rng.uniform(-50, 50), 2)))

    def text(self, value):
        rng = self.rng
        if self.pool.separators and rng.random() < 0.2:
            return self.parts(value)
        choice = rng.randrange(11)
        at = rng.randint(0, len(value))
        to = min(len(value), at + rng.choice((1, 1, 2, 4)))
        alphabet = self.pool.characters or EXTRA
        char = rng.choice(alphabet if rng.random() < 0.7 else EXTRA)
        if choice <= 1:
            return value[:at] + char + value[at:]
        if choice == 2:
            return value[:at] + value[to:]
        if choice == 3:
            return value[:at] + char + value[to:]
        if choice == 4:
            return value[:at] + value[at:to] * 2 + value[to:]
        if choice == 5:
            return rng.choice((value.upper(), value.lower(), value.title(), value.swapcase()))
        if choice == 6 and self.pool.strings:
            other = rng.choice(self.pool.strings)
            return value[:at] + other + value[at:]
        if choice == 7 and self.pool.strings:
            other = rng.choice(self.pool.strings)
            return rng.choice((other, value + other, other + value, value[:at] + other + value[to:]))
        if choice == 8:
            digits = [i for i, c in enumerate(value) if c.isdigit()]
            if digits:
                i = rng.choice(digits)
                return value[:i] + rng.choice("0123456789") + value[i + 1:]
            return value + rng.choice("0123456789")
        if choice == 9:
            return rng.choice((" " + value, value + " ", value + value, value[::-1], value[:at], value[at:]))
        words = value.split()
        if len(words) > 1:
            rng.shuffle(words)
            return " ".join(words)
        return value + " " + value if value else rng.choice(("a", " ", "0"))

    def parts(self, value):
        """A string with one of its parts changed, split as the code does."""
        rng = self.rng
        between = rng.choice(self.pool.separators)
        parts = value.split(between)
        at = rng.randrange(len(parts))
        choice = rng.randrange(5)
        if choice <= 1:
            parts.insert(rng.randint(0, len(parts)), self.pool.part(rng))
        elif choice == 2:
            parts[at] = self.pool.part(rng, between)
        elif choice == 3:
            parts.append(parts[at])
        elif len(parts) > 1:
            parts.append(parts.pop(at))
        return between.join(parts)

    def items(self, items, depth):
        rng = self.rng
        choice = rng.randrange(9)
        if not items:
            return [rng.choice((0, 1, "a", "b"))] if depth else [self.pool.any_value(rng)]
        at = rng.randrange(len(items))
        if choice <= 2:
            items[at] = self.value(items[at], depth + 1)
        elif choice == 3:
            items.insert(at, self.value(items[at], depth + 1))
        elif choice == 4:
            items.insert(rng.randrange(len(items) + 1), items[at])
        elif choice == 5:
            del items[at]
        elif choice == 6:
            rng.shuffle(items)
        elif choice == 7:
            items = rng.choice((items[::-1], items[:at + 1], items[at:], items + items[:2]))
        else:
            try:
                items.sort()
            except TypeError:
                items.reverse()
        return items[:20]

    def mapping(self, mapping, depth):
        rng = self.rng
        choice = rng.randrange(6)
        if not mapping:
            return {rng.choice(self.pool.strings or ["a"]): self.pool.any_value(rng)}
        key = rng.choice(list(mapping))
        if choice == 5 and depth < 3:
            # Dictionaries are often nested.
            mapping[key] = rng.choice(({}, {rng.choice(self.pool.strings or ["a"]): mapping[key]}, [mapping[key]]))
            return mapping
        if choice <= 1:
            mapping[key] = self.value(mapping[key], depth + 1)
        elif choice == 2:
            del mapping[key]
        elif choice == 3:
            item = mapping.pop(key)
            try:
                mapping[self.value(key, depth + 1)] = item
            except TypeError:
                pass
        else:
            item = mapping[key]
            new = rng.choice(self.pool.strings) if isinstance(key, str) and self.pool.strings else key
            try:
                mapping[self.value(key, depth + 1) if rng.random() < 0.5 else new] = self.value(item, depth + 1)
            except TypeError:
                pass
        return mapping
