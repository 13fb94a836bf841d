"""Functions that functions return: called with a few simple values, because nothing is known about their parameters."""
import inspect
import types

MAX_CALLS = 3
FUNCTION_WORDS = ("f", "fn", "func", "function", "callback", "method", "wrapped")


def is_own(value, paths):
    """Whether a value is a function of the project, or an object that wraps a function."""
    if "__wrapped__" in getattr(value, "__dict__", ()) and isinstance(getattr(type(value), "__call__", None), types.FunctionType):
        return True
    return isinstance(value, types.FunctionType) and value.__code__.co_filename in paths


def decorates(function):
    """Whether a function takes another one, as decorators do."""
    code = getattr(function, "__code__", None)
    return code is not None and code.co_argcount == 1 and code.co_varnames[0] in FUNCTION_WORDS


def plain_calls(function):
    """Argument lists to try, as source text."""
    try:
        called = function if isinstance(function, types.FunctionType) else function.__call__
        parameters = list(inspect.signature(called, follow_wrapped=False).parameters.values())
    except (TypeError, ValueError):
        return ()
    needed = [p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if any(p.kind is p.KEYWORD_ONLY and p.default is p.empty for p in parameters):
        return ()
    if len(needed) == 2:
        return ("3, 2", "1, 5")
    if needed and len(needed) != 1:
        return (", ".join(str(index + 1) for index in range(len(needed))),)
    if needed or any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return ("-2", "3", "3")
    return ("", "")


def facts(function, observe, evaluate, raised):
    """Facts about a few calls in sequence."""
    found = []
    for source in plain_calls(function)[:MAX_CALLS]:
        call = "{}(%s)" % source
        try:
            value = function(*evaluate("(%s,)" % source if source else "()"))
        except (AttributeError, TypeError):
            break  # it needs other values
        except Exception as error:
            found.append((call, "raises", raised(type(error))))
            continue
        found.extend(observe(value, call, 1))
    return tuple(found[:2 * MAX_CALLS])
