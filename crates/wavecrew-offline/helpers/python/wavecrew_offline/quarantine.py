"""Suspected defects, shown as calls and as tests that pytest does not collect by itself."""
from .cases import Case, arguments, method_call


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
