"""Names and ids of tests."""
import ast
import re
import unicodedata

MAX_LENGTH = 200  # of a message that is asserted completely


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
        if not value.strip():
            return "blank"
        word = slug(value)
        if not word:
            return "symbols" if value.isascii() else "not_ascii"
        return word
    if not value:
        return "empty_" + type(value).__name__
    if isinstance(value, (list, tuple)) and len(value) <= 3 and depth == 0:
        return slug("_".join(describe_value(item, 1) for item in value), 30)
    if isinstance(value, dict) and len(value) <= 2 and depth == 0:
        return slug("_".join(describe_value(key, 1) for key in value), 30)
    return "%s_of_%d" % (type(value).__name__, len(value))


def unique(word, taken):
    """The word, with a number if it is taken."""
    name, number = word, 2
    while name in taken:
        name = "%s_%d" % (word, number)
        number += 1
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
