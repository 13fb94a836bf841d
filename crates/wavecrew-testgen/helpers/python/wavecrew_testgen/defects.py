"""What looks like a defect rather than like behaviour to keep."""
import ast
import doctest
import inspect
import math
import re

from . import expected_errors
from .cases import Case, arguments
from .type_hints import ANY
from .variation import literal

# Errors that say that the code lost its way, not that the caller was told off.
INTERNAL = ("IndexError", "AttributeError", "UnboundLocalError", "RecursionError", "NameError", "KeyError",
            "ZeroDivisionError", "AssertionError", "RuntimeError", "UnicodeDecodeError")
# Pairs of words of which the second promises to undo the first. Not the other way: there are many ways to write one thing.
INVERSE = (
    ("format", "parse"), ("encode", "decode"), ("dumps", "loads"), ("dump", "load"), ("serialize", "deserialize"),
    ("serialise", "deserialise"), ("escape", "unescape"), ("quote", "unquote"), ("pack", "unpack"), ("to", "from"),
    ("compress", "decompress"), ("encrypt", "decrypt"), ("marshal", "unmarshal"), ("stringify", "parse"),
    ("hexlify", "unhexlify"), ("flatten", "unflatten"),
)
MOST_PER_TARGET = 2


def plain_enough(entries):
    """Entries without those that a test could not assert or that say nothing new."""
    seen = set()
    kept = []
    for entry in entries:
        if entry.target["how"] == "setter" and entry.facts == [("{}", "is", "None")]:
            continue  # nothing to assert
        if entry.how == "raises" and not entry.explicit:
            if entry.facts[0][1] == "RecursionError":
                continue  # how deep is deep enough depends on who calls
            key = (entry.case.target, entry.facts[0], tuple(entry.error or ())[-1:])
            if key in seen:
                continue
            seen.add(key)
        kept.append(entry)
    return kept


class Finder:
    """Looks for suspicious behaviour at the end of a search, in the child."""

    def __init__(self, search, harvest, names, analysis):
        self.search = search
        self.harvest = harvest
        self.names = names
        self.targets = {target.key: target for target in analysis.targets}
        self.source = analysis.source.decode("utf-8", "replace").splitlines()
        self.found = []
        self.errors = set()
        self.calls = set()

    def run(self):
        """All findings. What shows one is taken out of the pool, so that no test records it as it is."""
        for look in (self._internal_errors, self._examples, self._round_trips):
            look()
        pool = self.search.pool
        for case in [case for case, outcome in pool.items() if self.suspicious(case, outcome)]:
            del pool[case]
            self.search.by_target[case.target].remove(case)
        return self.found

    def suspicious(self, case, outcome):
        """Whether the case shows something that was found here."""
        if outcome.how == "raises" and outcome.error and (case.target, outcome.error[0], outcome.error[2]) in self.errors:
            return True
        return case.receiver is None and "%s(%s)" % (self.targets[case.target].path_name, arguments(case.args)) in self.calls

    def _add(self, kind, case, what, line=0, test=None, call=None):
        line = line or self.targets[case.target].lines[0]
        same = [one for one in self.found if one["kind"] == kind and one["case"][0] == case.target]
        if len(same) < MOST_PER_TARGET:
            self.found.append(
                {"kind": kind, "case": case.data(), "what": what, "line": line, "test": test, "call": call})

    def _internal_errors(self):
        """Inputs of the documented kind that end in an error nobody raised on purpose."""
        pool = sorted(self.search.pool.items(), key=lambda item: item[0].size())
        for case, outcome in pool:
            if outcome.how != "raises" or outcome.explicit or outcome.error is None:
                continue
            name, message, line = outcome.error
            if name in INTERNAL and line and self._plain(case) and not self._asked_for(case, outcome.error):
                self.errors.add((case.target, name, line))
                self._add("internal error", case, "%s: %s" % (name, message), line)

    def _plain(self, case):
        """Whether all arguments are of the likeliest kind of their parameter, by annotation or docstring."""
        target = self.targets[case.target]
        made = self._making(case.receiver)
        if not target.public or made is None or not (case.args or made[1]):
            return False
        called = [(target, case.args), made] if made[0] is not None else [(target, case.args)]
        called += [(self.targets.get("%s.%s" % (case.target.rpartition(".")[0], step)), args) for step, args in case.steps]
        return all(self._fit(one, args) for one, args in called)

    def _making(self, receiver):
        """The class and the arguments that an object is made with; nothing where it is made in another way."""
        if receiver is None or receiver.isidentifier() and receiver not in self.targets:
            return None, ()  # no object, or one that a fixture gives
        call = ast.parse(receiver, mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id not in self.targets:
            return None
        names = [None] * len(call.args) + [word.arg for word in call.keywords]
        return self.targets[call.func.id], list(zip(names, expected_errors.made_with(receiver)))

    def _asked_for(self, case, error):
        target = self.targets[case.target]
        about = [inspect.getdoc(thing) or "" for thing in (target.function, target.owner) if thing is not None]
        return expected_errors.asked_for(case, error, "\n".join(about))

    def _fit(self, target, args):
        if target is None:
            return False
        return all(
            parameter is not None and parameter.documented and expected_errors.fits(source, parameter.kinds[0][0])
            for parameter, source in _given(args, target))

    def _examples(self):
        """Examples of docstrings whose result is another one."""
        checker = doctest.OutputChecker()
        flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
        for source, want, known in self.harvest.examples:
            found = self.harvest.resolved(source, known)
            if found is None:
                continue
            outcome, shown = self._value(found)
            if outcome != "returns" or "Traceback" in want or shown is None:
                continue
            if not checker.check_output(want, shown + "\n", flags) and not _equal(self.search.runner, want, found):
                target = self._target_in(found)
                if target is not None:
                    self.calls.add(found)
                    case = Case(target, [])
                    self._add(
                        "example disagrees", case, "gives %s, its docstring says %s" % (shown, want.strip()),
                        self._line_of(source), "    assert repr(%s) == %r" % (found, want.strip()), found)

    def _line_of(self, example):
        shown = ">>> " + example.split("\n")[0]
        return next((number for number, line in enumerate(self.source, 1) if shown in line), 0)

    def _value(self, source):
        runner = self.search.runner
        try:
            value = runner.guard.call(lambda: runner.evaluate_in_test(source), runner.seconds)
            return "returns", repr(value)
        except BaseException:
            return "raises", None

    def _target_in(self, source):
        for key, target in self.targets.items():
            if target.name + "(" in source and target.public:
                return key
        return None

    def _round_trips(self):
        """Pairs of functions whose names promise to undo each other."""
        functions = {key: t for key, t in self.targets.items() if t.public and self._called(t)}
        for key, target in functions.items():
            for there, back in _inverse_names(key):
                other = functions.get(back)
                if other is not None and one_argument(target) and one_argument(other):
                    self._round_trip(target, other)

    def _called(self, target):
        """What to call: a function, or the method of a new object that needs nothing to be made."""
        if target.how in ("function", "static"):
            return target.path_name
        made = self.targets.get(target.owner.__name__) if target.how == "method" else None
        if made is None or any(parameter.required for parameter in made.parameters):
            return None
        return "%s().%s" % (made.path_name, target.name)

    def _round_trip(self, target, other):
        """`other(target(x)) == x`, for the inputs that the search found for `target`."""
        failures, successes = [], 0
        known = list(self.search.by_target.get(target.key, ()))[:40]
        for case in known + [self.search.fresh(target) for _ in range(60)]:
            if len(case.args) != 1 or not self._plain_or_untyped(case):
                continue
            source = case.args[0][1]
            there = "%s(%s)" % (self._called(target), arguments(case.args))
            call = "%s(%s)" % (self._called(other), there)
            how, shown = self._value(call)
            told, was = self._value(there), self._value(source)
            if told[0] != "returns" or was[0] != "returns" or how == "returns" and _is_rounded(was[1], told[1], shown):
                continue
            if how == "returns" and _equal(self.search.runner, source, call):
                successes += 1
            else:
                failures.append((case, call, shown if how == "returns" else "an error"))
        # Where hardly anything comes back, the names were a coincidence.
        if failures and successes >= max(3, len(failures) // 10):
            case, call, shown = min(failures, key=lambda item: (item[2] == "an error", len(item[1])))
            self._add("round trip", case, "%s gives %s" % (call, shown), test="    assert %s == %s" % (call, case.args[0][1]))

    def _plain_or_untyped(self, case):
        target = self.targets[case.target]
        return expected_errors.fits(case.args[0][1], target.parameters[0].kinds[0][0])


def plausible(case, target):
    """Whether the arguments are of kinds that someone passes, or that the code seems to be made for."""
    for parameter, source in _given(case.args, target):
        if parameter is None:
            return False
        likely = list(parameter.learnt) or [kind for kind, _ in parameter.kinds[:2] if kind != ANY]
        if ("plain",) not in likely and not any(expected_errors.fits(source, kind) for kind in likely):
            return False
    return True


def _given(args, target):
    """The parameters that arguments are for, and those."""
    plain = [parameter for parameter in target.parameters if parameter.style == "plain"]
    for position, (name, source) in enumerate(args):
        if name is None:
            yield (plain[position] if position < len(plain) else None), source
        else:
            yield next((parameter for parameter in target.parameters if parameter.name == name), None), source


def one_argument(target):
    return bool(target.parameters) and sum(1 for p in target.parameters if p.required) == 1


def _inverse_names(key):
    for first, second in INVERSE:
        owner, dot, name = key.rpartition(".")
        parts = name.split("_")
        if first in parts:
            yield key, owner + dot + "_".join(second if part == first else part for part in parts)


def _is_rounded(was, told, came):
    """Whether a number was told with fewer digits than it has, as `1s` for 1001: it is not meant to come back."""
    numbers = [literal(text)[1] for text in (was, came)]
    if was == came or not all(isinstance(number, (int, float)) for number in numbers):
        return False
    return len(re.sub(r"\D", "", told).strip("0")) < len(re.sub(r"\D", "", was).strip("0"))


def _equal(runner, want, source):
    """Whether two expressions have equal values, though written differently."""
    try:
        one, other = runner.guard.call(
            lambda: runner.evaluate_in_test("((%s), (%s))" % (want.strip(), source)), runner.seconds)
        if isinstance(one, float) and isinstance(other, (int, float)):
            return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9) or one != one and other != other
        return bool(one == other) or repr(one) == repr(other)
    except BaseException:
        return False
