"""Lines on which code rejects its arguments: `raise`, and assertions about arguments."""
import ast
import builtins


def lines_at(path):
    try:
        with open(path, "rb") as file:
            return lines_in(ast.parse(file.read()))
    except (OSError, SyntaxError, ValueError):
        return {}


def lines_in(tree):
    """The classes that each such line raises, by name. No name if it raises what an expression gives."""
    lines = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found = [(demand, "AssertionError") for demand in _demands(node)]
        elif isinstance(node, ast.Raise):
            found = [(node, _raised(node))]
        else:
            continue
        for statement, name in found:
            for line in _lines_of(statement):
                lines.setdefault(line, set()).add(name)
    return lines


def is_raised_by(kind, names):
    """Whether one of the names on a line is that of the exception. Otherwise its arguments raised it."""
    if "" in names or kind.__module__ != "builtins":
        return True
    return any(getattr(builtins, name, None) in kind.__mro__ for name in names)


def _raised(node):
    """The name of the class that a `raise` names, or nothing."""
    raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    name = getattr(raised, "id", getattr(raised, "attr", ""))
    return name if name[:1].isupper() else ""


def _lines_of(node):
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _demands(function):
    """Assertions about arguments at the start of a function. Later ones are about the code itself."""
    given = {arg.arg for arg in function.args.posonlyargs + function.args.args + function.args.kwonlyargs}
    for statement in function.body:
        if isinstance(statement, ast.Assert):
            if given & {node.id for node in ast.walk(statement.test) if isinstance(node, ast.Name)}:
                yield statement
        elif not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) or _refuses(statement)):
            return


def _refuses(statement):
    return isinstance(statement, ast.If) and isinstance(statement.body[-1], ast.Raise) and not statement.orelse
