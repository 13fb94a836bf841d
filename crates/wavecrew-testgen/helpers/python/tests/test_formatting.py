"""The format of test files."""
import pytest
from wavecrew_testgen.formatting import split_line, format_file

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
