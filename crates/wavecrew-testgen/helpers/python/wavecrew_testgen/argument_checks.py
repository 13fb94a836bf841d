"""Lines on which code rejects its arguments: `raise`, and assertions about arguments."""
import ast


def lines_at(path):
    try:
        with open(path, "rb") as file:
            return lines_in(ast.parse(file.read()))
    except (OSError, SyntaxError, ValueError):
        return set()


def lines_in(tree):
    lines = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            lines.update(*map(_lines_of, _demands(node)))
        elif isinstance(node, ast.Raise):
            lines.update(_lines_of(node))
    return lines


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
