"""Suspected defects as calls, and as failing tests in a file that pytest does not collect."""
import os

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


def write(folder, module, found, origin, note, fixtures=()):
    """Writes a file with a failing test per suspected defect. Its name keeps pytest from collecting it.

    Returns its path and the names of the tests."""
    taken, names, bodies = set(), [], []
    for defect in found:
        case = Case.of(defect["case"])
        name = naming.unique("test_%s_%s" % (naming.snake(case.target), naming.snake(defect["kind"])), taken)
        names.append(name)
        body = defect.get("test")
        if not body:
            lines = _source_lines(case)
            if defect["kind"] == ENDLESS:
                lines = [ALARM % defect["what"], "signal.alarm(10)"] + lines + ["signal.alarm(0)"]
            body = "\n".join("    " + line for line in lines)
        used_fixtures = fixtures_used(case, fixtures) + ["capsys"] * ("capsys." in body)
        bodies.append("def %s(%s):\n    # %s\n%s" % (name, ", ".join(used_fixtures), " ".join(defect["what"].split())[:150], body))
    text = "\n\n\n".join(bodies)
    used = used_names(text)
    lines = ["import %s" % name for name in STANDARD + ("signal",) if name in used and name not in origin]
    groups = ["\n".join(lines)] + ["import pytest"] * ("pytest" in used)
    homes = {}
    for name in sorted(used):
        if name in origin:
            homes.setdefault(origin[name], []).append(name)
    groups.append("\n".join("from %s import %s" % (home, ", ".join(names)) for home, names in sorted(homes.items())))
    path = os.path.join(folder, "quarantine_%s.py" % module.replace(".", "_"))
    with open(path, "w", encoding="utf-8") as file:
        file.write('"""%s"""\n\n%s\n\n\n%s\n' % (note, "\n\n".join(filter(None, groups)), text))
    return path, names
