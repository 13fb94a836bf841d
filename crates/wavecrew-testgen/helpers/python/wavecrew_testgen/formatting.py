"""Formats test files: the project's quotes, and long lines split at their brackets. Other layout stays as it is."""
import ast
import io
import re
import tokenize

from .style import DEFAULT_WIDTH, Style

OPENING, CLOSING = "([{", ")]}"
# A string alone, as an argument or as the expected value.
TEXT = re.compile(r"""(== |)("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')(,?)""")


def format_file(text, style=Style()):
    """The formatted program, or the original when formatting would change its meaning."""
    try:
        made = _wrapped(_quoted(text, style.quote), style.width)
        return made if ast.dump(ast.parse(made)) == ast.dump(ast.parse(text)) else text
    except (SyntaxError, ValueError, tokenize.TokenError):
        return text


def _tokens(text):
    return list(tokenize.generate_tokens(io.StringIO(text).readline))


def _quoted(text, quote):
    """Uses these quotes where they need no more escapes."""
    lines = text.split("\n")
    for token in reversed(_tokens(text)):
        (row, start), (last, end) = token.start, token.end
        if token.type == tokenize.STRING and row == last:
            line = lines[row - 1]
            lines[row - 1] = line[:start] + _requoted(token.string, quote) + line[end:]
    return "\n".join(lines)


def _requoted(string, quote):
    other = "'" if quote == '"' else '"'
    prefix, _, body = string.partition(other)
    if not string.endswith(other) or quote in string or body.startswith(other) and len(body) > 1:
        return string
    if not (prefix == "" or prefix.isalpha()):
        return string
    body = body[:-1]
    return prefix + quote + (body if "r" in prefix.lower() else body.replace("\\" + other, other)) + quote


def _wrapped(text, width):
    inside = set()  # rows of multi-line strings
    for token in _tokens(text):
        if token.type == tokenize.STRING and token.start[0] != token.end[0]:
            inside.update(range(token.start[0], token.end[0] + 1))
    made = []
    for row, line in enumerate(text.split("\n"), 1):
        content = line.lstrip(" ")
        made += [line] if row in inside or len(line) <= width else split_line(content, len(line) - len(content), width)
    return "\n".join(made)


def split_line(content, indent, width=DEFAULT_WIDTH):
    """One line as several, each with its indentation."""
    if indent + len(content) <= width:
        return [" " * indent + content]
    rows = _lines_of_text(content, indent)
    if rows:
        return rows
    groups = _groups(content)
    last = groups[-1] if groups else None
    ends = last is not None and content[last[1] + 1:] in ("", ",", ":", "),")
    if content.startswith("assert ") and (not ends or last[1] == last[0] + 1):
        return _in_brackets(content, indent, width)
    if not ends or last[1] == last[0] + 1:
        return [" " * indent + content]
    head, body, tail = content[:last[0] + 1], content[last[0] + 1:last[1]].rstrip(","), content[last[1]:]
    parts, called = _parts(body), _is_call(head)
    if indent + 4 + len(body) <= width and (called or len(parts) == 1):
        rows = [" " * (indent + 4) + body]
    else:
        rows = []
        for part in parts:
            # A comma after a single part would make it a tuple.
            rows += split_line(part + ("," if len(parts) > 1 or called or head[-1] != "(" else ""), indent + 4, width)
    return [" " * indent + head] + rows + [" " * indent + tail]


def _lines_of_text(content, indent):
    """A text of several lines, one string per line. Nothing for anything else."""
    found = TEXT.fullmatch(content)
    if not found:
        return []
    before, string, after = found.groups()
    try:
        lines = ast.literal_eval(string).splitlines(keepends=True)
    except (SyntaxError, ValueError):
        return []
    if len(lines) < 2 or any(not line.endswith("\n") for line in lines[:-1]):
        return []
    strings = [_requoted(repr(line), string[0]) for line in lines]
    return [" " * indent + row for row in [before + strings[0], *strings[1:-1], strings[-1] + after]]


def _is_call(head):
    """Whether a bracket holds arguments rather than a list, dictionary or tuple."""
    before = head[-2:-1]
    return before.isalnum() or before in tuple("_)]")


def _in_brackets(content, indent, width):
    """An assertion in brackets, with the operator on a second line when needed."""
    claim = content[len("assert "):]
    inner = indent + 4
    if inner + len(claim) <= width:
        rows = [" " * inner + claim]
    else:
        at = _operator(claim)
        if at is None:
            return [" " * indent + content]
        rows = split_line(claim[:at].rstrip(), inner, width) + split_line(claim[at:], inner, width)
    return [" " * indent + "assert ("] + rows + [" " * indent + ")"]


def _marks(content):
    """Operators and names outside of strings: kind, column, and depth of brackets."""
    depth = 0
    for token in _tokens(content):
        if token.type == tokenize.OP and token.string in CLOSING:
            depth -= 1
        if token.type in (tokenize.OP, tokenize.NAME):
            yield token.string, token.start[1], depth
        if token.type == tokenize.OP and token.string in OPENING:
            depth += 1


def _groups(content):
    """Columns of the outermost brackets, in pairs."""
    found, opened = [], None
    # A rest such as `),` closes a bracket of another line.
    for string, column, depth in _marks(content):
        if depth == 0 and string in tuple(OPENING):
            opened = column
        elif depth == 0 and string in tuple(CLOSING) and opened is not None:
            found.append((opened, column))
            opened = None
    return found


def _parts(body):
    """The parts between commas, except those of a lambda's parameters."""
    found, begin, names = [], 0, False
    for string, column, depth in _marks(body):
        if depth == 0 and string == "lambda":
            names = True
        elif depth == 0 and string == ":":
            names = False
        elif depth == 0 and string == "," and not names:
            found.append(body[begin:column].strip())
            begin = column + 1
    return found + [body[begin:].strip()]


def _operator(claim):
    for string, column, depth in _marks(claim):
        if depth == 0 and string in ("==", "!=", "is", "in", "<", ">", "<=", ">="):
            return column
    return None
