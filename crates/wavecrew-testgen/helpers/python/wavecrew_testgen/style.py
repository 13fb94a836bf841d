"""How the project writes its code: line length and quotes."""
import io
import os
import re
import tokenize

DEFAULT_WIDTH = 88
LEAST_WIDTH, MOST_WIDTH = 72, 120
MAX_READ = 8  # files whose quotes are counted
MAX_BYTES = 200000
FEW = 10  # fewer strings than this show no habit
# Files with settings of formatters, and how they set line length and quotes.
SETTINGS = ("pyproject.toml", "ruff.toml", ".ruff.toml", "setup.cfg", "tox.ini", ".flake8")
WIDTH = re.compile(r"^\s*(?:line[-_]length|max[-_]line[-_]length)\s*=\s*[\"']?(\d+)", re.MULTILINE)
QUOTES = re.compile(r"^\s*(?:quote-style|inline-quotes)\s*=\s*[\"']?(single|double|['\"])", re.MULTILINE)


class Style:
    def __init__(self, width=DEFAULT_WIDTH, quote='"'):
        self.width = width
        self.quote = quote


def style_of(root, files):
    """The style of a project: from its settings, or else the quotes that its files use most."""
    width = quote = None
    for name in SETTINGS:
        text = _read(os.path.join(root, name))
        found = WIDTH.search(text)
        if found and width is None:
            width = min(max(int(found.group(1)), LEAST_WIDTH), MOST_WIDTH)
        found = QUOTES.search(text)
        if found and quote is None:
            quote = "'" if found.group(1) in ("single", "'") else '"'
    return Style(width or DEFAULT_WIDTH, quote or _most_used(files))


def _most_used(files):
    single = double = 0
    for path in files[:MAX_READ]:
        for string in _strings(_read(path)):
            body = string.lstrip("rRbBuUfF")
            if body.startswith(('"""', "'''")) or "'" in body[1:-1] or '"' in body[1:-1]:
                continue
            single += body.startswith("'")
            double += body.startswith('"')
    return "'" if single > max(2 * double, FEW) else '"'


def _strings(text):
    try:
        return [token.string for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type == tokenize.STRING]
    except (tokenize.TokenError, SyntaxError, ValueError):
        return []


def _read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(MAX_BYTES)
    except (OSError, ValueError):
        return ""
