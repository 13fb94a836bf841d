"""Small edits of the inputs that people use, towards what changes often concern: white space at the ends, other digits and
cases, empty and doubled values, neighbours of numbers, and the constants of changed lines."""
from .cases import Case
from .literals import literal

FEW = 6  # edits of each value that are tried first
MAX_CONSTANTS = 12
MAX_LENGTH = 400
ARABIC = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")


def edits(value, aimed):
    """Changed copies of a value, the likeliest first. `aimed` are constants of changed lines."""
    if value is None or isinstance(value, bool):
        return []
    if isinstance(value, str):
        return _texts(value, [each for each in aimed if isinstance(each, str)][:MAX_CONSTANTS])
    if isinstance(value, bytes):
        return [value + b"\n", b"", value + b"\0", value + b"\xff", value * 2, value[:-1]]
    if isinstance(value, int):
        return [-value, value + 1, value - 1, 0, value * 10, 10 ** 20, float(value)]
    if isinstance(value, float):
        return [-value, 0.0, value + 0.5, int(value) if abs(value) < 1e15 else 0]
    if isinstance(value, (list, tuple)):
        kind = type(value)
        return [kind(), value + value, value[::-1], value[:1], value[:-1], tuple(value) if kind is list else list(value)] + [
            value + kind([each]) for each in aimed[:MAX_CONSTANTS]]
    if isinstance(value, dict):
        filler = next(iter(value.values()), 1)
        return [{}, dict(list(value.items())[:1]), dict(reversed(list(value.items())))] + [
            dict(value, **{each: filler}) for each in aimed[:MAX_CONSTANTS] if isinstance(each, str)]
    return []


def other_forms(source, value):
    """Sources of values of other types that stand for the same, and of numbers that have no literal."""
    if value is None or isinstance(value, bool):
        return []
    if isinstance(value, (int, float)):
        return ["float('nan')", "float('inf')", repr(str(value)), "%r + 0j" % value]
    if isinstance(value, str):
        return ["%s.encode()" % source, "None"]
    if isinstance(value, bytes):
        return ["bytearray(%s)" % source, "memoryview(%s)" % source]
    if isinstance(value, (list, tuple)):
        return ["iter(%s)" % source, "None"] + (["set(%s)" % source] if _is_hashable(value) else [])
    if isinstance(value, dict):
        return ["list(%s.items())" % source, "None"]
    return []


def _is_hashable(items):
    try:
        return bool(set(items)) or not items
    except TypeError:
        return False


def _texts(text, constants):
    found = [text + "\n", text + " ", text.translate(ARABIC), "", " " + text, text.upper(), text.lower(), text[:-1], text[1:],
             text + text[-1:], text + text, "-" + text, "+" + text, "0" + text, "\n" + text, text + "\0", text.title(),
             text.replace(" ", "\t"), text.replace("-", "_"), text + "é", text.replace("\n", "\r\n")]
    for constant in constants:
        found += [text + constant, constant + text, constant]
        if len(text) > 1:
            found.append(text[:len(text) // 2] + constant + text[len(text) // 2:])
    return found


def cases(case, aimed, first):
    """Copies of a case with one edited literal: with `first` the likeliest edits, otherwise the rest."""
    for index, (name, source) in enumerate(case.args):
        plain, value = literal(source)
        if not plain:
            continue
        seen = {source}
        shown_edits = [repr(changed) for changed in edits(value, aimed)]
        for rank, shown in enumerate(shown_edits + [None] * FEW + other_forms(source, value)):
            if shown is not None and shown not in seen and (rank < FEW) == first and len(shown) <= MAX_LENGTH:
                seen.add(shown)
                yield Case(case.target, case.args[:index] + ((name, shown),) + case.args[index + 1:], case.receiver, case.steps)
