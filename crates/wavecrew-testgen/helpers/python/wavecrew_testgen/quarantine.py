"""Suspected defects as calls, and as failing tests in a file that pytest does not collect."""
from . import naming
from .cases import Case, arguments, method_call
from .names import STANDARD, fixtures_used, used_names

ENDLESS = "does not end"
ALARM = "signal.signal(signal.SIGALRM, lambda *_: pytest.fail(%r))"


def call_text(data, fixtures=()):
    """A case as source text, with the fixtures that it uses."""
    case = Case.of(data)
    text, used_fixtures = "; ".join(_source_lines(case)), fixtures_used(case, fixtures)
    return "%s, with the fixture %s" % (text, ", ".join(used_fixtures)) if used_fixtures else text


def _source_lines(case):
    name = case.target.rpartition(".")[2]
    if case.receiver is None:
        return ["%s(%s)" % (case.target, arguments(case.args))]
    lines = [method_call("it", step, args) for step, args in case.steps]
    lines.append(method_call("it" if lines else case.receiver, name, case.args))
    if len(lines) > 1:
        lines.insert(0, "it = " + case.receiver)
    return lines


def _test_names(case, defect):
    """Names for the test of a defect, the shortest first."""
    base = "test_%s_%s" % (naming.snake(case.target), naming.snake(defect["kind"]))
    return [base] + ["%s_%s" % (base, naming.slug(text, 40)) for text in (arguments(case.args), defect["what"]) if naming.slug(text, 40)]


def _comment(defect):
    return "# " + " ".join(defect["what"].split())[:150]


def is_reported(defect, text):
    """Whether a file of an earlier round has a test for this defect."""
    names = _test_names(Case.of(defect["case"]), defect)
    return _comment(defect) in text and any("def %s(" % name in text for name in names)


def file_name(module, number=1):
    """A name that keeps pytest from collecting the file."""
    return "quarantine_%s%s.py" % (module.replace(".", "_"), "_%d" % number if number > 1 else "")


def render(found, origin, note, fixtures=()):
    """The text of a file with a failing test per suspected defect, and the names of the tests."""
    taken, names, bodies = set(), [], []
    for defect in found:
        case = Case.of(defect["case"])
        name = naming.unique(_test_names(case, defect), taken)
        names.append(name)
        body = defect.get("test")
        if not body:
            lines = _source_lines(case)
            if defect["kind"] == ENDLESS:
                lines = [ALARM % defect["what"], "signal.alarm(10)"] + lines + ["signal.alarm(0)"]
            body = "\n".join("    " + line for line in lines)
        used_fixtures = fixtures_used(case, fixtures) + ["capsys"] * ("capsys." in body)
        bodies.append("def %s(%s):\n    %s\n%s" % (name, ", ".join(used_fixtures), _comment(defect), body))
    text = "\n\n\n".join(bodies)
    used = used_names(text)
    lines = ["import %s" % name for name in STANDARD + ("doctest", "importlib", "signal") if name in used and name not in origin]
    groups = ["\n".join(lines)] + ["import pytest"] * ("pytest" in used)
    homes = {}
    for name in sorted(used):
        if name in origin:
            homes.setdefault(origin[name], []).append(name)
    groups.append("\n".join("from %s import %s" % (home, ", ".join(names)) for home, names in sorted(homes.items())))
    return '"""%s"""\n\n%s\n\n\n%s\n' % (note, "\n\n".join(filter(None, groups)), text), names
