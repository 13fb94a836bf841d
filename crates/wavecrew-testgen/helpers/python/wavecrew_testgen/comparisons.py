"""New cases from what a run compared: a compared value in the input becomes the value on the other side."""
import enum
import re

from . import patterns
from .cases import Case
from .literals import constants_in, literal
from .type_hints import kind_of_annotation

MAX_ITEMS = 40
SWEPT, SWEPT_LEAVES = 120, 2
SIMPLE = (str, int, float, bool, type(None), bytes)


class Expressions:
    """The expressions of a case, each of which can be replaced."""

    def __init__(self, case):
        self.case = case
        self.sources = [source for _, source in case.args]
        self.receiver = len(self.sources) if case.receiver is not None else None
        if case.receiver is not None:
            self.sources.append(case.receiver)
        self.first_step = len(self.sources)
        self.sources.extend(source for _, args in case.steps for _, source in args)

    def replaced(self, index, source):
        case = self.case
        if index == self.receiver:
            return Case(case.target, case.args, source, case.steps)
        if index >= self.first_step:
            return Case(case.target, case.args, case.receiver, with_step(case.steps, index - self.first_step, source))
        args = list(case.args)
        args[index] = (args[index][0], source)
        return case.with_args(args)


def with_step(steps, index, source):
    """Steps with another expression for one argument. `index` counts the arguments of all steps."""
    changed = []
    for name, args in steps:
        if 0 <= index < len(args):
            args = args[:index] + ((args[index][0], source),) + args[index + 1:]
        index -= len(args)
        changed.append((name, args))
    return tuple(changed)


def suggestions(probe, rng):
    """Pairs of an observed value and values that would take another path."""
    found = []
    for operator, left, right in probe.pairs:
        if operator == "Item":
            if isinstance(left, dict):
                found.append((right, [key for key in list(left)[:MAX_ITEMS] if isinstance(key, SIMPLE)]))
                found.append((left, _with(left, right)))
            elif isinstance(left, enum.EnumMeta):
                found.append((right, list(left.__members__)[:MAX_ITEMS]))
        elif operator in ("In", "NotIn"):
            if isinstance(right, str) and isinstance(left, str):
                found.append((left, list(right[:20])))
                found.append((right, [right + left, left + right]))
            elif isinstance(right, (list, tuple, set, frozenset, dict)):
                items = sorted(right, key=repr)[:MAX_ITEMS]
                found.append((left, [item for item in items if isinstance(item, SIMPLE)]))
                found.append((right, _with(right, left)))
        elif isinstance(left, SIMPLE) and isinstance(right, SIMPLE):
            found.append((left, _near(right)))
            found.append((right, _near(left)))
    for name, owner, args in probe.methods:
        found.extend(_of_method(name, owner, args, rng))
    for kind, value in probe.conversions:
        if isinstance(value, str):
            found.append((value, ["12", "-3", "0"] + (["2.5"] if kind == "float" else [])))
    return found


def _with(container, item):
    """Copies of a container with an item that was looked up in it."""
    if not isinstance(item, SIMPLE) or len(container) > MAX_ITEMS:
        return []
    if isinstance(container, dict):
        values = list(container.values())[:1] + [1, {}, [1, 2], "a"]
        return [{**container, item: value} for value in values]
    if isinstance(container, (list, tuple)):
        return [container + type(container)([item])] if type(container) in (list, tuple) else []
    return [set(container) | {item}]


def _near(value):
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return [value]
    return [value, value + 1, value - 1]


def _of_method(name, owner, args, rng):
    text = args[0] if args else None
    if isinstance(owner, str) and isinstance(text, (str, tuple)):
        options = [text] if isinstance(text, str) else [t for t in text if isinstance(t, str)][:12]
        for option in options:
            if name == "startswith":
                yield owner, [option + owner]
            elif name == "endswith":
                yield owner, [owner + option]
            elif option:
                middle = len(owner) // 2
                yield owner, [owner + option + "1", owner[:middle] + option + owner[middle:], option + owner + option]
    elif name == "strptime" and len(args) == 2 and all(isinstance(arg, str) for arg in args):
        yield args[0], patterns.dates(args[1])
    elif isinstance(owner, re.Pattern) and args:
        subject = args[1] if name.startswith("sub") and len(args) > 1 else args[0]
        if isinstance(subject, str):
            yield subject, _found_in(name, subject, patterns.matches(owner, rng, 6))
    elif owner is re and len(args) > 1:
        subject = args[2] if name.startswith("sub") and len(args) > 2 else args[1]
        pattern = args[0]
        if isinstance(subject, str) and isinstance(pattern, (str, re.Pattern)):
            yield subject, _found_in(name, subject, patterns.matches(pattern, rng, 6))
    elif isinstance(owner, dict) and name == "get" and isinstance(text, SIMPLE):
        yield text, [key for key in list(owner)[:MAX_ITEMS] if isinstance(key, SIMPLE)]
        yield owner, _with(owner, text)


def _found_in(name, subject, texts):
    """Strings that a pattern matches, also appended to the subject when it may match anywhere."""
    return texts if name in ("match", "fullmatch") else texts + [subject + text for text in texts[:2]]


def cases_from_comparisons(case, probe, rng, defaults=(), most=160):
    """Variants of a case by the comparisons that the probe saw. `defaults` are names and values of omitted parameters."""
    expressions = Expressions(case)
    found = {}
    for seen, wanted in suggestions(probe, rng):
        for index, source in enumerate(expressions.sources):
            for changed in _substitutes(source, seen, wanted):
                if changed != source and len(changed) <= 200:
                    found[expressions.replaced(index, changed)] = None
        for name, default in defaults:
            if type(default) is type(seen) and default == seen:
                for new in wanted:
                    if type(new) is type(seen) and new != default:
                        found[case.with_args(case.args + ((name, repr(new)),))] = None
        if len(found) > most * 4:
            break
    listed = list(found)
    if len(listed) > most:
        listed = rng.sample(listed, most)
    return listed


def cases_of_checked_types(case, probe, maker, pool, values):
    """Cases with arguments of the types that the code checks for."""
    expressions = Expressions(case)
    for value, kind in probe.checks:
        for index, known in enumerate(values):
            if known is value and index < len(case.args):
                for each in kind if isinstance(kind, tuple) else (kind,):
                    for _ in range(3):
                        yield expressions.replaced(index, maker.make(kind_of_annotation(each), pool, 1))


def _substitutes(source, seen, wanted):
    whole = source.encode()
    for start, end, value in constants_in(source):
        for new in _leaf(value, seen, wanted):
            yield (whole[:start] + repr(new).encode() + whole[end:]).decode()
    plain, value = literal(source)
    if plain and isinstance(seen, (dict, list, tuple, set)):
        for new in wanted:
            if isinstance(new, (dict, list, tuple, set)):
                changed = _inside(value, seen, new)
                if changed is not None:
                    yield repr(changed)
        return
    if plain and isinstance(seen, int) and not isinstance(seen, bool) and hasattr(value, "__len__") and len(value) == seen:
        for size in wanted:
            if isinstance(size, int) and 0 <= size <= 60:
                resized = _resized(value, size)
                if resized is not None:
                    yield repr(resized)


def _inside(value, seen, new, depth=0):
    """A copy of a value with `new` in place of `seen`, or None."""
    if type(value) is type(seen) and value == seen:
        return new
    if depth > 3:
        return None
    if isinstance(value, dict):
        for key, item in value.items():
            changed = _inside(item, seen, new, depth + 1)
            if changed is not None:
                return {**value, key: changed}
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            changed = _inside(item, seen, new, depth + 1)
            if changed is not None:
                return value[:index] + type(value)([changed]) + value[index + 1:]
    return None


def _leaf(value, seen, wanted):
    if type(value) is type(seen) and value == seen:
        # A looked-up key, or the value it is compared with, may have another type.
        for new in wanted:
            if type(new) is not type(value) and isinstance(new, SIMPLE) and not isinstance(new, bool):
                yield new
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, str) and isinstance(seen, str):
        for new in wanted:
            if not isinstance(new, str):
                continue
            if value == seen or value.strip().lower() == seen.strip().lower():
                yield new
            elif seen and seen in value:
                yield value.replace(seen, new, 1)
            elif seen and seen in value.lower():
                at = value.lower().index(seen)
                yield value[:at] + new + value[at + len(seen):]
    elif isinstance(value, str) and isinstance(seen, int) and str(seen) in value and not isinstance(seen, bool):
        for new in wanted:
            if isinstance(new, int):
                yield value.replace(str(seen), str(new), 1)
    elif isinstance(value, (int, float)) and isinstance(seen, (int, float)) and not isinstance(seen, bool):
        for new in wanted:
            if not isinstance(new, (int, float)) or isinstance(new, bool) or new != new or abs(new) > 1e18:
                continue
            if value == seen:
                yield new
                continue
            try:
                yield from _moved(value, seen, new)
            except (OverflowError, ValueError):  # infinite, or too large for arithmetic
                continue


def _moved(value, seen, new):
    """Candidates for the value that makes `new` appear: by difference and by proportion."""
    moved = value + (new - seen)
    yield int(moved) if isinstance(value, int) else moved
    if seen and value and new:
        scaled = value * (new / seen)
        if abs(scaled) < 1e18:
            yield round(scaled) if isinstance(value, int) else scaled


def cases_with_nearby_numbers(case):
    """Cases with one integer replaced by nearby ones, nearest first."""
    expressions = Expressions(case)
    for index, source in enumerate(expressions.sources):
        whole = source.encode()
        found = [leaf for leaf in constants_in(source) if type(leaf[2]) is int]
        for start, end, value in found[:SWEPT_LEAVES]:
            for away in range(1, SWEPT + 1):
                for new in (value + away, value - away):
                    yield expressions.replaced(index, (whole[:start] + repr(new).encode() + whole[end:]).decode())


def _resized(value, size):
    if isinstance(value, (str, bytes, list, tuple)):
        if not value:
            return value.__class__("a" * size) if isinstance(value, str) else None
        return (value * (size // len(value) + 1))[:size]
    return None
