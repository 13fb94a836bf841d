"""Pieces of tests with one more option: a keyword argument that a call of the piece could have had.

The key of such a piece names the piece it is made from, so that each process can make it.
"""
import ast
import inspect

from .snippets import SLOT, Snippet

MARK = "|"
MAX_OPTIONS = 120
PER_OPTION = 3  # pieces for each parameter of a function
TEXTS = 3


def with_option(target, call, name):
    """A copy of a piece whose call of a number has another keyword argument, a literal."""
    setup, observed = ast.parse(target.setup), ast.parse(target.observed, mode="eval")
    chosen = _calls(setup, observed)[call]
    chosen.keywords.append(ast.keyword(name, ast.Name(SLOT % len(target.literals), ast.Load())))
    made = Snippet(
        "%s%s%d%s%s" % (target.key, MARK, call, MARK, name), target.name, target._imports, ast.unparse(setup), ast.unparse(observed),
        [source for _, source in target.literals] + ["None"], target.scope)
    made.lines = target.lines
    return made


def derived(key, targets):
    """The piece that a key stands for, or None."""
    parts = key.split(MARK)
    base = targets.get(parts[0])
    return with_option(base, int(parts[1]), parts[2]) if len(parts) == 3 and base is not None else None


def options(target, functions):
    """The options of the calls of a piece: the number of the call, the function, the parameter and its default. `functions` are
    the parameters of methods by name."""
    found = []
    try:
        calls = _calls(ast.parse(target.setup), ast.parse(target.observed, mode="eval"))
    except (SyntaxError, ValueError, RecursionError):
        return found
    for number, call in enumerate(calls):
        if any(word.arg is None for word in call.keywords) or any(isinstance(arg, ast.Starred) for arg in call.args):
            continue
        name, parameters = _function(call.func, target.scope, functions)
        given = {word.arg for word in call.keywords}
        for position, (parameter, default) in enumerate(parameters):
            if default is not inspect.Parameter.empty and parameter not in given and position >= len(call.args):
                found.append((number, name, parameter, default))
    return found


def values(default, texts):
    """Sources of values for a parameter that differ from its default."""
    if isinstance(default, bool):
        return [repr(not default)]
    if isinstance(default, (int, float)):
        return [repr(default + 1), "0", repr(-default or -1), "None"]
    if isinstance(default, str):
        return [repr(text) for text in texts[:TEXTS] if text != default] + ["''", repr(default + default or " ")]
    if default is None:
        return ["True", "1", "'a'", "[]", "str"] + [repr(text) for text in texts[:TEXTS]]
    if isinstance(default, (list, tuple, dict, set)):
        return [repr(type(default)()), repr(type(default)(["a"]) if not isinstance(default, dict) else {"a": 1})]
    return ["None", "True"]


def _calls(setup, observed):
    return [each for tree in (observed, setup) for each in ast.walk(tree) if isinstance(each, ast.Call)]


def _function(node, scope, functions):
    """The name of what a call calls, and its parameters with their defaults."""
    text = ast.unparse(node)
    known = scope.get(text.partition(".")[0])
    if known is not None and text.replace(".", "").replace("_", "").isalnum():
        for part in text.split(".")[1:]:
            known = getattr(known, part, None)
        try:
            found = list(inspect.signature(known).parameters.values())
        except (TypeError, ValueError):
            return text, []
        if getattr(known, "__module__", None) in ("builtins", None):
            return text, []
        return text, [(each.name, each.default) for each in found if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    if isinstance(node, ast.Attribute):
        return node.attr, functions.get(node.attr, [])
    return text, []
