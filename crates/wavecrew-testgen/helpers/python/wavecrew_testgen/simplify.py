"""Simpler cases: fewer steps, options and items, smaller numbers, shorter texts."""
from .cases import Case
from .comparisons import Expressions
from .expected_errors import sources
from .literals import constants_in, literal


MAX_PARTS = 32  # of one size, that are removed from a text or list
# What a person would write where the text does not matter.
WORDS = ("a", "b", "ab", "abc", "hello", "hello world")


def shorter_cases(case):
    """The case with one step or one option less."""
    for index in range(len(case.steps)):
        yield Case(case.target, case.args, case.receiver, case.steps[:index] + case.steps[index + 1:])
    for index, (name, _) in enumerate(case.args):
        if name is not None:
            yield case.with_args(case.args[:index] + case.args[index + 1:])


def simpler_cases(case):
    """Cases with fewer items, smaller numbers and shorter strings."""
    expressions = Expressions(case)
    for other in _renamed(case):
        yield other
    for index, source in enumerate(expressions.sources):
        for shorter in _fewer(source):
            yield expressions.replaced(index, shorter)
        whole = source.encode()
        for start, end, value in constants_in(source):
            for new in _smaller(value):
                yield expressions.replaced(index, (whole[:start] + repr(new).encode() + whole[end:]).decode())


def trimmed_cases(case):
    """Cases without one part of a text, or one item of a list, large parts first."""
    expressions = Expressions(case)
    for index, source in enumerate(expressions.sources):
        plain, value = literal(source)
        if plain and isinstance(value, (list, tuple)):
            for kept in _without_parts(value):
                yield expressions.replaced(index, repr(kept))
        whole = source.encode()
        for start, end, value in constants_in(source):
            if isinstance(value, (str, bytes)):
                for kept in _without_parts(value):
                    yield expressions.replaced(index, (whole[:start] + repr(kept).encode() + whole[end:]).decode())


def _without_parts(value):
    size = (len(value) + 1) // 2
    while size >= 1 and len(value) > 1:
        for start in range(0, min(len(value), MAX_PARTS * size), size):
            yield value[:start] + value[start + size:]
        size //= 2


def _fewer(source):
    """A list, tuple or dictionary with fewer items."""
    plain, value = literal(source)
    if not plain or not isinstance(value, (list, tuple, dict)) or len(value) < 2:
        return
    items = list(value.items() if isinstance(value, dict) else value)
    half = len(items) // 2
    for kept in (items[:half], items[half:], items[:-1], items[1:]):
        yield repr(type(value)(kept))


def _renamed(case):
    """Cases with a simple word for an odd string, in all places, so that keys still match."""
    texts = [value for source in sources(case) for _, _, value in constants_in(source) if isinstance(value, str)]
    odd = [text for text in dict.fromkeys(texts) if text not in WORDS and (len(text) > 2 or not text.isalnum())]
    for text in odd[:3]:
        for word in [word for word in WORDS if len(word) <= len(text) and word not in texts][:3]:
            args = [(name, _with_word(source, text, word)) for name, source in case.args]
            steps = [(step, tuple((name, _with_word(source, text, word)) for name, source in given)) for step, given in case.steps]
            receiver = case.receiver and _with_word(case.receiver, text, word)
            yield Case(case.target, args, receiver, steps)


def _with_word(source, text, word):
    """An expression with a word in place of a string."""
    whole = source.encode()
    for start, end, value in sorted(constants_in(source), key=lambda leaf: -leaf[0]):
        if value == text and isinstance(value, str):
            whole = whole[:start] + repr(word).encode() + whole[end:]
    return whole.decode()


def _smaller(value):
    if isinstance(value, bool) or value is None:
        return ()
    if isinstance(value, int):
        sign = -1 if value < 0 else 1
        if -10 <= value < -1:
            return [-1]
        return [sign * new for new in (1, 2, 3, 5, 10, 100, 1000) if new < abs(value)] if abs(value) > 10 else ()
    if isinstance(value, float) and abs(value) not in (0.5, 1.5, 2.5) and value == value:
        return [new for new in (0.5, 1.5, 2.5) if new < abs(value)]
    if isinstance(value, (str, bytes)) and len(value) > 3:
        half = len(value) // 2
        return [value[:half], value[half:], *((value[:4], value[:8], value[-8:]) if len(value) > 10 else ())]
    return ()
