"""Suspected defects, shown as calls and as tests that pytest does not collect by itself."""
import os
import textwrap

from . import words
from .cases import Case, arguments, method_call
from .names import STANDARD, used_names


def shown(data):
    """A case as a person would type it."""
    case = Case.of(data)
    name = case.target.rpartition(".")[2]
    if case.receiver is None:
        return "%s(%s)" % (case.target, arguments(case.args))
    lines = [method_call("it", step, args) for step, args in case.steps]
    lines.append(method_call("it" if lines else case.receiver, name, case.args))
    if len(lines) > 1:
        lines.insert(0, "it = " + case.receiver)
    return "; ".join(lines)


def write(folder, module, found, origin, note, fixtures=()):
    """Writes one file with a failing test per suspected defect; its name keeps pytest from collecting it."""
    taken, bodies = set(), []
    for defect in found:
        case = Case.of(defect["case"])
        name = words.unique("test_%s_%s" % (words.snake(case.target), words.snake(defect["kind"])), taken)
        body = defect.get("test")
        if not body:
            body = "\n".join("    " + line for line in shown(defect["case"]).split("; "))
        given = sorted(used_names(textwrap.dedent(body)).intersection(fixtures))
        bodies.append("def %s(%s):\n    # %s\n%s" % (name, ", ".join(given), " ".join(defect["what"].split())[:150], body))
    text = "\n\n\n".join(bodies)
    used = used_names(text)
    lines = ["import %s" % name for name in STANDARD if name in used and name not in origin]
    homes = {}
    for name in sorted(used):
        if name in origin:
            homes.setdefault(origin[name], []).append(name)
    lines += ["from %s import %s" % (home, ", ".join(names)) for home, names in sorted(homes.items())]
    path = os.path.join(folder, "quarantine_%s.py" % module.replace(".", "_"))
    with open(path, "w", encoding="utf-8") as file:
        file.write('"""%s"""\n\n%s\n\n\n%s\n' % (note, "\n".join(lines), text))
    return path
