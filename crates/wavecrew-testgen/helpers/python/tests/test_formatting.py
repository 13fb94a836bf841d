"""The format of test files."""
import pytest
from wavecrew_testgen.formatting import split_line, format_file
from wavecrew_testgen.style import Style, style_of

LONG = "a" * 30


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 'b'\n", 'a = "b"\n'),
        ("a = 'say \"b\"'\n", "a = 'say \"b\"'\n"),
        ("a = 'it\\'s'\n", 'a = "it\'s"\n'),
        ("a = b'x' + r'\\d'\n", 'a = b"x" + r"\\d"\n'),
        ("a = '''x\n'''\n", "a = '''x\n'''\n"),
        ("a = (\n", "a = (\n"),
    ],
)
def test_quotes(text, expected):
    assert format_file(text) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("call(%s, %s, %s)" % (LONG, LONG, LONG[:19]), ["call(", "    %s, %s, %s" % (LONG, LONG, LONG[:19]), ")"]),
        ("call(%s, %s, %s)" % (LONG, LONG, LONG), ["call(", "    %s," % LONG, "    %s," % LONG, "    %s," % LONG, ")"]),
        ("assert x == [%s, %s, %s]" % (LONG, LONG, LONG[:19]),
         ["assert x == [", "    %s," % LONG, "    %s," % LONG, "    %s," % LONG[:19], "]"]),
        ("assert call(%s) == '%s%s'" % (LONG, LONG, LONG[:12]),
         ["assert (", "    call(%s) == '%s%s'" % (LONG, LONG, LONG[:12]), ")"]),
        ("assert call(%s) == '%s%s'" % (LONG, LONG, LONG),
         ["assert (", "    call(%s)" % LONG, "    == '%s%s'" % (LONG, LONG), ")"]),
        ("with pytest.raises(%s, match='%s %s'):" % (LONG[:9], LONG, LONG),
         ["with pytest.raises(", "    %s, match='%s %s'" % (LONG[:9], LONG, LONG), "):"]),
        ("x = '%s(%s'" % (LONG * 2, LONG), ["x = '%s(%s'" % (LONG * 2, LONG)]),
    ],
)
def test_long_lines(line, expected):
    assert split_line(line, 0) == expected


def test_the_program_stays_the_same():
    text = "def f():\n    return call(lambda a, b: a, %s, (%s), [%s, %s])\n" % (LONG, LONG, LONG, LONG)
    assert format_file(text) == (
        "def f():\n    return call(\n        lambda a, b: a,\n        %s,\n        (%s),\n        [%s, %s],\n    )\n" % (
            LONG, LONG, LONG, LONG))


@pytest.mark.parametrize(
    ("settings", "source", "expected"),
    [
        ("[tool.black]\nline-length = 100\n", "a = 'x'\n" * 20, (100, "'")),
        ("", "a = 'x'\n", (88, '"')),
        ("[tool.ruff]\nline-length = 79\n[tool.ruff.format]\nquote-style = \"single\"\n", 'a = "x"\n', (79, "'")),
        ("", 'a = "x"\nb = \'y\'\n', (88, '"')),
        ("", "", (88, '"')),
    ],
)
def test_the_style_of_the_project(tmp_path, settings, source, expected):
    (tmp_path / "pyproject.toml").write_text(settings)
    (tmp_path / "a.py").write_text(source)
    style = style_of(str(tmp_path), [str(tmp_path / "a.py")])
    assert (style.width, style.quote) == expected


def test_the_quotes_of_the_project_are_used():
    assert format_file('a = "b"\nc = "it\'s"\n', Style(88, "'")) == "a = 'b'\nc = \"it's\"\n"


def test_a_long_text_of_several_lines_has_one_string_per_line():
    text = "\n".join("line %d of the table" % number for number in range(4))
    made = format_file("assert table(1) == %r\n" % text)
    assert made == (
        "assert (\n"
        "    table(1)\n"
        '    == "line 0 of the table\\n"\n'
        '    "line 1 of the table\\n"\n'
        '    "line 2 of the table\\n"\n'
        '    "line 3 of the table"\n'
        ")\n"
    )
