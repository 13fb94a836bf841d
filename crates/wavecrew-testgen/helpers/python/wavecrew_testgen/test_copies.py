"""One test of a file as a file of its own, as short as it goes: the test, what it needs of its file, and nothing else."""
import ast
import copy

from .snippets import _assign, _names, _needed


def copies(text, test):
    """Source of files with only this test, the shortest first. `test` is an event of `suite_run`."""
    tree = ast.parse(text)
    owner, function = _definition(tree, test)
    if function is None:
        return
    function = copy.deepcopy(function)
    given = [line for decorated in filter(None, (owner, function)) for line in _rows(decorated, test["indices"])]
    names = {line.targets[0].id for line in given}
    function.args.args = [arg for arg in function.args.args if arg.arg not in names]
    seen = set()
    for body in _bodies(function, (test["error"] or [None, None, 0])[2]):
        made = copy.copy(function)
        used = {name for node in body for name in _names(node)}
        made.body = body = [line for line in given if line.targets[0].id in used] + body
        if not _asserts(made):
            continue
        shown = _file(text, tree, made, owner)
        if shown not in seen:
            seen.add(shown)
            yield shown, body


def _definition(tree, test):
    """The class of a test, or None, and its function."""
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    if test["owner"] is None:
        return None, next((node for node in tree.body if _is_function(node) and node.name == test["function"]), None)
    owner, function, todo = classes.get(test["owner"]), None, [test["owner"]]
    while todo and function is None:
        kind = classes.get(todo.pop(0))
        if kind is not None:
            function = next((node for node in kind.body if _is_function(node) and node.name == test["function"]), None)
            todo += [base.id for base in kind.bases if isinstance(base, ast.Name)]
    return copy.deepcopy(owner), function


def _is_function(node):
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))


def _rows(decorated, indices):
    """The parameters of a test as assignments, instead of the tables in its decorators."""
    kept, found = [], []
    for decorator in decorated.decorator_list:
        lines = _row(decorator, indices)
        if lines is None:
            kept.append(decorator)
        else:
            found += lines
    decorated.decorator_list = kept
    return found


def _row(decorator, indices):
    """The assignments of one table, or None."""
    if not isinstance(decorator, ast.Call) or len(decorator.args) < 2 or "parametrize" not in ast.dump(decorator.func):
        return None
    if any(word.arg == "indirect" for word in decorator.keywords) or len(decorator.args) > 2:
        return None
    try:
        names = ast.literal_eval(decorator.args[0])
    except ValueError:
        return None
    names = [name.strip() for name in names.split(",") if name.strip()] if isinstance(names, str) else list(names)
    row = indices.get(names[0]) if names else None
    if row is None:
        return None
    values = decorator.args[1]
    if isinstance(values, (ast.List, ast.Tuple)) and not any(isinstance(each, ast.Starred) for each in values.elts):
        cell = values.elts[row]
        if isinstance(cell, ast.Call) and getattr(cell.func, "attr", "") == "param":
            return [_assign(name, each) for name, each in zip(names, cell.args)]
        if len(names) == 1:
            return [_assign(names[0], cell)]
        if isinstance(cell, (ast.Tuple, ast.List)) and len(cell.elts) == len(names):
            return [_assign(name, each) for name, each in zip(names, cell.elts)]
    cell = "list(%s)[%d]" % (ast.unparse(values), row)
    texts = [cell] if len(names) == 1 else ["%s[%d]" % (cell, number) for number in range(len(names))]
    return [_assign(name, ast.parse(text, mode="eval").body) for name, text in zip(names, texts)]


def _bodies(function, line):
    """The failing statement of a test with definitions, with all that it may need, with all before it, and all statements."""
    body = [node for node in function.body if not _is_docstring(node)] or function.body
    at = next((index for index, node in enumerate(body) if node.lineno <= line <= node.end_lineno), None)
    if at is not None:
        yield _definitions(body[:at], body[at]) + [body[at]]
        yield _needed(body[:at], body[at]) + [body[at]]
        yield body[:at + 1]
    yield body


def _definitions(statements, last):
    """The statements that only define what the last one uses."""
    used, kept = _names(last), []
    for statement in reversed(statements):
        is_effect = isinstance(statement, ast.Assert) or isinstance(statement, ast.Expr)
        if not is_effect and used & _bound(statement) or isinstance(statement, (ast.Import, ast.ImportFrom)):
            kept.insert(0, statement)
            used |= _names(statement)
    return kept


def _asserts(function):
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name.startswith("assert") or name in ("raises", "warns", "fail"):
                return True
    return False


def _file(text, tree, function, owner):
    subject = function
    if owner is not None:
        methods = {node.name for node in owner.body if _is_function(node)}
        others = [node for node in owner.body if not (_is_function(node) and (node.name.startswith("test") or node.name == function.name))]
        used = {node.attr for node in ast.walk(function) if isinstance(node, ast.Attribute)} | _arguments(function)
        others = [node for node in others if not _is_function(node) or node.decorator_list or node.name in used
                  or node.name.lower().startswith(("setup", "teardown", "__", "_")) or len(methods) > 1 and _uses(others, node.name)]
        subject = copy.copy(owner)
        subject.body = [node for node in others if not _is_docstring(node)] + [function]
    wanted = _all_names(subject)
    kept = []
    top = [node for node in tree.body if not _is_docstring(node)]
    own = {function.name} if owner is None else {owner.name}
    definitions = [(node, _bound(node)) for node in top if getattr(node, "name", None) not in own]
    changed = True
    while changed:
        changed = False
        for node, bound in definitions:
            if node not in kept and (bound & wanted or _always(node)):
                kept.append(node)
                if not isinstance(node, (ast.Import, ast.ImportFrom)):
                    wanted |= _all_names(node)
                changed = True
    parts = []
    for node, _ in definitions:
        if node in kept:
            parts.append(_only_used(node, wanted) or _source(text, node))
    head = [part for part in parts if part.startswith(("import ", "from "))]
    rest = [part for part in parts if part not in head]
    shown = ast.unparse(ast.fix_missing_locations(subject))
    return "\n".join(head) + ("\n\n\n" if head else "") + "\n\n\n".join(rest + [shown]) + "\n"


def _uses(nodes, name):
    return any(isinstance(each, ast.Attribute) and each.attr == name for node in nodes for each in ast.walk(node))


def _is_docstring(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _arguments(node):
    return {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}


def _all_names(node):
    """Names that some code may need: variables, and parameters, which may be fixtures."""
    found = _names(node) | _arguments(node)
    # `usefixtures("name")` and other names in texts.
    for decorator in getattr(node, "decorator_list", ()):
        found |= {each.value for each in ast.walk(decorator) if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    return found


def _bound(node):
    """The names that a statement of a module makes."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {alias.asname or alias.name.split(".")[0] for alias in node.names}
    if hasattr(node, "name"):
        return {node.name}
    found = set()
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            found.add(each.id)
        elif isinstance(each, (ast.Import, ast.ImportFrom)):
            found |= _bound(each)
        elif isinstance(each, (ast.FunctionDef, ast.ClassDef)):
            found.add(each.name)
    if isinstance(node, ast.Expr) or isinstance(node, ast.Assign) and not found:
        found |= _names(node)  # `table.append(...)`, `table["a"] = 1`
    return found


def _always(node):
    """Whether a statement matters to every test: fixtures that apply by themselves, and marks."""
    if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names) or isinstance(node, ast.ImportFrom) and node.module == "__future__":
        return True
    if isinstance(node, ast.Assign) and _bound(node) & {"pytestmark", "pytest_plugins"}:
        return True
    if _is_function(node):
        return node.name in ("setup_module", "setUpModule", "setup_function") or any("autouse" in ast.dump(each) for each in node.decorator_list)
    return False


def _only_used(node, wanted):
    """An import with only the names that are needed; None for other statements."""
    if not isinstance(node, (ast.Import, ast.ImportFrom)):
        return None
    node = copy.copy(node)
    node.names = [alias for alias in node.names if alias.name == "*" or (alias.asname or alias.name.split(".")[0]) in wanted] or node.names
    return ast.unparse(node)


def _source(text, node):
    lines = text.splitlines()
    first = min([node.lineno] + [each.lineno for each in getattr(node, "decorator_list", ())])
    return "\n".join(lines[first - 1:node.end_lineno])
