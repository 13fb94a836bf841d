"""Whether arguments are of kinds that people pass, or that the code seems to expect."""
import ast

from .type_hints import ANY, source_fits


def plausible(case, target, is_strict=False):
    """Whether all arguments of a call fit their parameters. Strictly, a container needs more than a guess."""
    if is_strict and any(_is_guessed_container(parameter, source) for parameter, source in with_parameters(case.args, target)):
        return False
    return args_fit(case.args, target)


def _is_guessed_container(parameter, source):
    if parameter is None or parameter.documented or parameter.observed_kinds or source in parameter.fixtures:
        return False
    return source.startswith(("[", "{", "(", "b'", 'b"'))


def plausible_setup(case, targets):
    """Whether the arguments of the object and of the steps before a call fit, where the called functions are known."""
    owner = case.target.rpartition(".")[0]
    called = [(targets.get("%s.%s" % (owner, step)), args) for step, args in case.steps]
    called.append(construction(case.receiver, targets))
    return all(target is None or args_fit(args, target) for target, args in called)


def args_fit(args, target):
    for parameter, source in with_parameters(args, target):
        if parameter is None:
            return False
        if source in parameter.fixtures:
            continue
        likely = list(parameter.observed_kinds) or [kind for kind, _ in parameter.kinds[:2] if kind != ANY]
        if ("plain",) not in likely and not any(source_fits(source, kind) for kind in likely):
            return False
    return True


def with_parameters(args, target):
    """Pairs of a parameter and its argument."""
    plain = [parameter for parameter in target.parameters if parameter.style == "plain"]
    many = next((parameter for parameter in target.parameters if parameter.style == "many"), None)
    named = next((parameter for parameter in target.parameters if parameter.style == "named"), None)
    for position, (name, source) in enumerate(args):
        if name is None:
            yield (plain[position] if position < len(plain) else many), source
        else:
            yield next((parameter for parameter in target.parameters if parameter.name == name), named), source


def construction(receiver, targets):
    """The target and arguments that construct an object; no target for other expressions."""
    try:
        call = ast.parse(receiver or "", mode="eval").body
    except SyntaxError:
        return None, []
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id not in targets:
        return None, []
    if any(isinstance(arg, ast.Starred) for arg in call.args):
        return None, []
    text = receiver.encode()
    given = [(None, arg) for arg in call.args] + [(word.arg, word.value) for word in call.keywords if word.arg]
    return targets[call.func.id], [(name, text[node.col_offset:node.end_col_offset].decode()) for name, node in given]
