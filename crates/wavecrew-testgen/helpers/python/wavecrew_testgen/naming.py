"""Names and ids of tests."""
import ast
import re
import unicodedata

MAX_LENGTH = 200  # of a message that is asserted completely
MAX_DETAIL = 48
SYMBOLS = {
    " ": "space", "-": "hyphen", "_": "underscore", ".": "dot", ",": "comma", ":": "colon", ";": "semicolon", "/": "slash",
    "\\": "backslash", "|": "bar", "+": "plus", "*": "star", "=": "equals", "<": "less", ">": "greater", "!": "bang",
    "?": "question_mark", "'": "quote", '"': "double_quote", "`": "backtick", "~": "tilde", "@": "at", "#": "hash",
    "$": "dollar", "%": "percent", "^": "caret", "&": "and", "(": "open", ")": "close", "[": "open_bracket",
    "]": "close_bracket", "{": "open_brace", "}": "close_brace", "\n": "newline", "\t": "tab", "\r": "return", "\0": "nul",
}


def slug(text, most=24):
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    words = re.sub(r"[^A-Za-z0-9]+", "_", plain).strip("_").lower()
    if len(words) > most:
        words = words[:most].rsplit("_", 1)[0] if "_" in words[:most] else words[:most]
    return words


def describe(source):
    """A short description of the value of an expression."""
    try:
        value = ast.literal_eval(source)
    except (ValueError, SyntaxError, TypeError):
        if source.startswith("lambda"):
            return "function"
        source = re.sub(r"(?<![\w)])-(?=\d)", " minus ", source)
        return slug(re.sub(r"\b(datetime|collections|decimal|pathlib|operator)\.", "", source)) or "value"
    return describe_value(value)


def describe_value(value, depth=0):
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        text = ("%r" % abs(value)).replace(".", "_").replace("+", "").replace("-", "_")
        return "minus_" + text if value < 0 else text
    if isinstance(value, (str, bytes)):
        if isinstance(value, bytes):
            value = value.decode("latin-1")
        if not value:
            return "empty_text"
        word = slug(value)
        if word:
            return word
        if len(value) <= 3:
            return "_".join(map(_character, value))
        return "blank" if not value.strip() else "symbols" if value.isascii() else "not_ascii"
    if not isinstance(value, (list, tuple, dict, set, frozenset)):
        return slug(repr(value)) or "value"
    if not value:
        return "empty_" + type(value).__name__
    leaves = _leaves(value)
    if 0 < len(leaves) <= 4 and depth == 0:
        return slug("_".join(describe_value(item, 1) for item in leaves), 30)
    return "%s_of_%d" % (type(value).__name__, len(value))


def _leaves(value):
    """The values in a container and the containers inside it, keys included."""
    if isinstance(value, dict):
        value = [part for pair in value.items() for part in pair]
    if not isinstance(value, (list, tuple, set, frozenset)):
        return [value]
    return [leaf for item in (sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value) for leaf in _leaves(item)]


def detail(source):
    """A longer description, which differs for values that differ in case, type or symbols only."""
    try:
        value = ast.literal_eval(source)
    except (ValueError, SyntaxError, TypeError):
        return _spelled(source)
    if isinstance(value, (list, tuple, dict, set)):
        return "_".join([type(value).__name__] + [detail(repr(leaf)) for leaf in _leaves(value)])[:MAX_DETAIL].rstrip("_")
    if not isinstance(value, str) or not value:
        kind = type(value).__name__
        return "%s_%s" % (kind, _spelled(source)) if isinstance(value, (float, bool, bytes)) else _spelled(source)
    prefix = "text_" if value.strip().replace(".", "").isdigit() else "upper_" if value.isupper() else "capital_" if value[0].isupper() else ""
    return prefix + _spelled(value)


def _spelled(text):
    words = "_".join(part if part.isalnum() and part.isascii() else _character(part) for part in re.findall(r"[A-Za-z0-9]+|.", text, re.DOTALL))
    return words.lower()[:MAX_DETAIL].rstrip("_")


def _character(char):
    """The name of a character."""
    if char in SYMBOLS:
        return SYMBOLS[char]
    return "_".join(re.findall(r"[a-z0-9]+", unicodedata.name(char, "control").lower())[:4])


def unique(names, taken):
    """The first of several names that is free. More detailed names come later."""
    for name in names:
        if name not in taken:
            break
    else:
        name = next("%s_%d" % (names[-1], number) for number in range(2, 10000) if "%s_%d" % (names[-1], number) not in taken)
    taken.add(name)
    return name


def snake(name):
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"[^A-Za-z0-9_]", "_", name).strip("_").lower()


def pattern(message):
    """Source of a regular expression that matches exactly this message, or the start of a long one."""
    text = "^" + re.sub(r"([\\.^$*+?{}\[\]|()])", r"\\\1", message) + ("$" if len(message) < MAX_LENGTH else "")
    if '"' not in text and text.isprintable():
        return 'r"%s"' % text
    if "'" not in text and text.isprintable():
        return "r'%s'" % text
    return repr(text)
