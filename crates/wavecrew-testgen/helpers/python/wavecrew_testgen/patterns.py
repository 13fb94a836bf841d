"""Strings that match a regular expression or a date format."""
import datetime
import re

try:
    from re import _constants as constants
    from re import _parser as parser
except ImportError:  # before 3.11
    import sre_constants as constants
    import sre_parse as parser

LETTERS = "abcxyzABCXYZ"
WORDS = LETTERS + "0123456789_"
MAX_REPEATS = 3
MAX_LENGTH = 60

CATEGORIES = {
    constants.CATEGORY_DIGIT: "0123456789", constants.CATEGORY_NOT_DIGIT: "ab -_",
    constants.CATEGORY_SPACE: " ", constants.CATEGORY_NOT_SPACE: "aB1-_",
    constants.CATEGORY_WORD: WORDS, constants.CATEGORY_NOT_WORD: " -.,!",
}


def matches(pattern, rng, count=8):
    """Different strings that the pattern matches."""
    try:
        compiled = pattern if isinstance(pattern, re.Pattern) else re.compile(pattern)
        if isinstance(compiled.pattern, bytes):
            return []
        tree = parser.parse(compiled.pattern, compiled.flags & ~re.DEBUG)
    except (re.error, RecursionError, OverflowError, ValueError):
        return []
    found = []
    for attempt in range(count * 3):
        generator = _Generator(rng, lengthen=attempt % 3)
        try:
            text = generator.walk(tree)
        except (RecursionError, _TooLong):
            continue
        if len(text) <= MAX_LENGTH * 2 and text not in found and compiled.search(text):
            found.append(text)
            if len(found) >= count:
                break
    return found


class _TooLong(Exception):
    pass


class _Generator:
    def __init__(self, rng, lengthen):
        self.rng = rng
        self.groups = {}
        self.lengthen = lengthen
        self.made = 0

    def walk(self, tree):
        return "".join(self.one(op, value) for op, value in tree)

    def one(self, op, value):
        rng = self.rng
        self.made += 1
        if self.made > 600:
            raise _TooLong()
        if op is constants.LITERAL:
            return chr(value)
        if op is constants.NOT_LITERAL:
            return rng.choice([c for c in WORDS if ord(c) != value])
        if op is constants.ANY:
            return rng.choice(WORDS[:-1] + " ")
        if op is constants.IN:
            return self.among(value)
        if op is constants.BRANCH:
            return self.walk(rng.choice(value[1]))
        if op is constants.SUBPATTERN:
            text = self.walk(value[-1])
            if value[0] is not None:
                self.groups[value[0]] = text
            return text
        if op in REPEATS:
            low, high, tree = value
            high = min(int(high), int(low) + MAX_REPEATS) if self.lengthen else min(int(high), int(low) + 1)
            return "".join(self.walk(tree) for _ in range(rng.randint(int(low), max(int(low), high))))
        if op is constants.GROUPREF:
            return self.groups.get(value, "")
        if op is constants.GROUPREF_EXISTS:
            group, yes, no = value
            return self.walk(yes) if group in self.groups else self.walk(no) if no else ""
        if op is constants.CATEGORY:
            return rng.choice(CATEGORIES.get(value, WORDS))
        if op is getattr(constants, "ATOMIC_GROUP", None):
            return self.walk(value)
        return ""  # anchors and look-arounds match no text

    def among(self, items):
        rng = self.rng
        if items and items[0][0] is constants.NEGATE:
            refused = set()
            for op, value in items[1:]:
                refused.update(_characters(op, value))
            allowed = [c for c in WORDS + " -.,:" if c not in refused]
            letters = [c for c in allowed if c.isalpha()]
            return rng.choice(letters if letters and rng.random() < 0.8 else allowed or ["é"])
        op, value = rng.choice(items)
        return rng.choice(sorted(_characters(op, value)) or [""])


REPEATS = tuple(
    getattr(constants, name)
    for name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") if hasattr(constants, name)
)


def _characters(op, value):
    if op is constants.LITERAL:
        return {chr(value)}
    if op is constants.RANGE:
        low, high = value
        return {chr(code) for code in range(low, min(high, low + 300) + 1)}
    if op is constants.CATEGORY:
        return set(CATEGORIES.get(value, ""))
    return set()


MOMENTS = (
    datetime.datetime(2024, 2, 29, 13, 45, 30), datetime.datetime(1999, 12, 31, 23, 59, 59),
    datetime.datetime(2023, 7, 4, 0, 0, 0), datetime.datetime(2000, 1, 1, 12, 5, 9, 250000),
)


def dates(form):
    """Dates in a `strftime` format."""
    found = []
    for moment in MOMENTS:
        try:
            if "%z" in form:
                moment = moment.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
            text = moment.strftime(form)
        except ValueError:
            return found
        if text not in found:
            found.append(text)
    return found


def joined(separator, rng, words):
    """A few words joined by a separator, for code that splits at it."""
    count = rng.choice((2, 2, 3, 3, 4))
    return separator.join(rng.choice(words) for _ in range(count))


def looks_like_format(text):
    return "%" in text and any("%" + c in text for c in "YmdHMSyjbBzpI")


def looks_like_regex(text):
    return len(text) > 2 and any(mark in text for mark in ("\\d", "\\w", "\\s", "[", "(?", ".*", ".+", "^", "$", "\\b"))
