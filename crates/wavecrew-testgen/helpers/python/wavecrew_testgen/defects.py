"""Suspected defects: behaviour that a test should not record."""
import ast
import contextlib
import doctest
import inspect
import io
import math
import re

from . import expected_errors
from .cases import Case, arguments
from .literals import literal
from .type_hints import ANY, source_fits

# Errors that code rarely raises to reject its arguments.
INTERNAL_ERRORS = ("IndexError", "AttributeError", "UnboundLocalError", "RecursionError", "NameError", "KeyError",
            "ZeroDivisionError", "AssertionError", "RuntimeError", "UnicodeDecodeError")
# Pairs of words: the second undoes the first. The first need not undo the second, as `parse` accepts many spellings.
INVERSE_WORDS = (
    ("format", "parse"), ("encode", "decode"), ("dumps", "loads"), ("dump", "load"), ("serialize", "deserialize"),
    ("serialise", "deserialise"), ("escape", "unescape"), ("quote", "unquote"), ("pack", "unpack"), ("to", "from"),
    ("compress", "decompress"), ("encrypt", "decrypt"), ("marshal", "unmarshal"), ("stringify", "parse"),
    ("hexlify", "unhexlify"), ("flatten", "unflatten"),
)
MAX_PER_TARGET = 2
EXAMPLE_SECONDS = 2.0  # for an example and those before it


def assertable(entries):
    """The entries that a test can assert, without repeated errors."""
    seen = set()
    kept = []
    for entry in entries:
        if entry.target["how"] == "setter" and entry.facts == [("{}", "is", "None")]:
            continue  # nothing to assert
        if entry.how == "raises" and not entry.explicit:
            if entry.facts[0][1] == "RecursionError":
                continue  # the depth depends on the caller
            key = (entry.case.target, entry.facts[0], tuple(entry.error or ())[-1:])
            if key in seen:
                continue
            seen.add(key)
        kept.append(entry)
    return kept


class DefectFinder:
    """Finds suspected defects after a search, in the child."""

    def __init__(self, search, examples, names, analysis):
        self.search = search
        self.examples = examples
        self.names = names
        self.targets = {target.key: target for target in analysis.targets}
        self.module = analysis.module
        self.source = analysis.source.decode("utf-8", "replace").splitlines()
        self.found = []
        self.errors = set()
        self.calls = set()

    def run(self):
        """All findings. Removes the cases that show one from the pool, so that no test records them."""
        for look in (self._internal_errors, self._examples, self._round_trips):
            look()
        pool = self.search.pool
        for case in [case for case, outcome in pool.items() if self.shows_defect(case, outcome)]:
            del pool[case]
            self.search.by_target[case.target].remove(case)
        return self.found

    def shows_defect(self, case, outcome):
        """Whether a case shows one of the findings."""
        if outcome.how == "raises" and outcome.error and (case.target, outcome.error[0], outcome.error[2]) in self.errors:
            return True
        call = "%s(%s)" % (self.targets[case.target].qualified_name, arguments(case.args))
        return case.receiver is None and call in self.calls

    def _add_defect(self, kind, case, what, line=0, test=None, call=None):
        line = line or self.targets[case.target].lines[0]
        same = [one for one in self.found if one["kind"] == kind and one["case"][0] == case.target]
        if len(same) < MAX_PER_TARGET:
            self.found.append(
                {"kind": kind, "case": case.data(), "what": what, "line": line, "test": test, "call": call})

    def _internal_errors(self):
        """Inputs of the documented kind with an error that no `raise` of the project explains."""
        pool = sorted(self.search.pool.items(), key=lambda item: item[0].size())
        for case, outcome in pool:
            if outcome.how != "raises" or outcome.explicit or outcome.error is None:
                continue
            name, message, line = outcome.error
            if name in INTERNAL_ERRORS and line and self._has_documented_types(case) and not self._is_expected_error(case, outcome.error):
                self.errors.add((case.target, name, line))
                self._add_defect("internal error", case, "%s: %s" % (name, message), line)

    def _has_documented_types(self, case):
        """Whether all arguments have the documented kind of their parameter."""
        target = self.targets[case.target]
        made = self._construction(case.receiver)
        if not target.public or made is None or not (case.args or made[1]):
            return False
        called = [(target, case.args), made] if made[0] is not None else [(target, case.args)]
        called += [(self.targets.get("%s.%s" % (case.target.rpartition(".")[0], step)), args) for step, args in case.steps]
        return all(self._args_fit(one, args) for one, args in called)

    def _construction(self, receiver):
        """The class and arguments that construct an object; None for other expressions."""
        if receiver is None or receiver.isidentifier() and receiver not in self.targets:
            return None, ()  # no object, or one from a fixture
        call = ast.parse(receiver, mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id not in self.targets:
            return None
        names = [None] * len(call.args) + [word.arg for word in call.keywords]
        return self.targets[call.func.id], list(zip(names, expected_errors.made_with(receiver)))

    def _is_expected_error(self, case, error):
        target = self.targets[case.target]
        about = [inspect.getdoc(thing) or "" for thing in (target.function, target.owner) if thing is not None]
        return expected_errors.is_expected_error(case, error, "\n".join(about))

    def _args_fit(self, target, args):
        if target is None:
            return False
        return all(
            parameter is not None and parameter.documented and source_fits(source, parameter.kinds[0][0])
            for parameter, source in _with_parameters(args, target))

    def _examples(self):
        """Examples in docstrings that show something else."""
        checker = doctest.OutputChecker()
        flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
        for source, want, known, preceding in self.examples.doctests:
            found = self.examples.resolved(source, known)
            if found is None:
                continue
            if "Traceback" in want:
                continue
            shown, printed = self._shown(found)
            if shown is None or checker.check_output(want, shown, flags):
                continue
            target = self._target_in(found)
            if target is None or not printed and _equal(self.search.runner, want, found):
                continue
            # An example may depend on the effects of earlier ones.
            in_place = self._shown_after(preceding, source)
            if in_place is None or checker.check_output(want, in_place, flags):
                continue
            self.calls.add(found)
            what = "shows %s, but its docstring says %s" % (shown.strip(), want.strip())
            self._add_defect("example disagrees", Case(target, []), what, self._line_of(source), _example_test(found, want, printed), found)

    def _line_of(self, example):
        shown = ">>> " + example.split("\n")[0]
        return next((number for number, line in enumerate(self.source, 1) if shown in line), 0)

    def _shown(self, source):
        """The text that doctest compares, which is the output of an expression and its value. And whether there is output."""
        output = io.StringIO()

        def show():
            with contextlib.redirect_stdout(output):
                value = self.search.runner.evaluate_in_test(source)
            return output.getvalue() + ("" if value is None else repr(value) + "\n")

        try:
            return self.search.runner.guard.call(show, self.search.runner.seconds), bool(output.getvalue())
        except BaseException:
            return None, False

    def _shown_after(self, preceding, source):
        """What an example shows after the preceding ones of its docstring, or None when it fails."""
        namespace = dict(vars(self.module))

        def show(statements):
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(statements, "<example>", "single"), namespace)
            return output.getvalue()

        def run():
            for statements in preceding:
                try:
                    show(statements)
                except Exception:
                    pass  # examples may show errors
            return show(source)

        try:
            return self.search.runner.guard.call(run, EXAMPLE_SECONDS)
        except BaseException:
            return None

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
        """Pairs of functions whose names say that they undo each other."""
        functions = {key: t for key, t in self.targets.items() if t.public and self._callable_text(t)}
        for key, target in functions.items():
            for there, back in _inverse_names(key):
                other = functions.get(back)
                if other is not None and one_argument(target) and one_argument(other):
                    self._round_trip(target, other)

    def _callable_text(self, target):
        """What to call: a function, or a method of an object without constructor arguments."""
        if target.how in ("function", "static"):
            return target.qualified_name
        made = self.targets.get(target.owner.__name__) if target.how == "method" else None
        if made is None or any(parameter.required for parameter in made.parameters):
            return None
        return "%s().%s" % (made.qualified_name, target.name)

    def _round_trip(self, target, other):
        """`other(target(x)) == x` for the inputs that the search found for `target`."""
        failures, successes = [], 0
        known = list(self.search.by_target.get(target.key, ()))[:40]
        for case in known + [self.search.new_case(target) for _ in range(60)]:
            if len(case.args) != 1 or not self._fits_likeliest_kind(case):
                continue
            source = case.args[0][1]
            there = "%s(%s)" % (self._callable_text(target), arguments(case.args))
            call = "%s(%s)" % (self._callable_text(other), there)
            how, shown = self._value(call)
            written, was = self._value(there), self._value(source)
            if written[0] != "returns" or was[0] != "returns" or how == "returns" and _is_rounded(was[1], written[1], shown):
                continue
            if how == "returns" and _equal(self.search.runner, source, call):
                successes += 1
            else:
                failures.append((case, call, shown if how == "returns" else "an error"))
        # When hardly anything comes back, the names are a coincidence.
        if failures and successes >= max(3, len(failures) // 10):
            case, call, shown = min(failures, key=lambda item: (item[2] == "an error", len(item[1])))
            self._add_defect("round trip", case, "%s returns %s" % (call, shown), test="    assert %s == %s" % (call, case.args[0][1]))

    def _fits_likeliest_kind(self, case):
        target = self.targets[case.target]
        return source_fits(case.args[0][1], target.parameters[0].kinds[0][0])


def plausible(case, target):
    """Whether the arguments are of kinds that somebody passes, or that the code seems to expect."""
    for parameter, source in _with_parameters(case.args, target):
        if parameter is None:
            return False
        likely = list(parameter.observed_kinds) or [kind for kind, _ in parameter.kinds[:2] if kind != ANY]
        if ("plain",) not in likely and not any(source_fits(source, kind) for kind in likely):
            return False
    return True


def _with_parameters(args, target):
    """Pairs of a parameter and its argument."""
    plain = [parameter for parameter in target.parameters if parameter.style == "plain"]
    for position, (name, source) in enumerate(args):
        if name is None:
            yield (plain[position] if position < len(plain) else None), source
        else:
            yield next((parameter for parameter in target.parameters if parameter.name == name), None), source


def one_argument(target):
    return bool(target.parameters) and sum(1 for p in target.parameters if p.required) == 1


def _example_test(call, want, printed):
    """The body of a test that fails until the example is right."""
    if not printed:
        return "    assert repr(%s) == %r" % (call, want.strip())
    # As in doctest, the amount of white space does not matter.
    expected = " ".join(want.replace(doctest.BLANKLINE_MARKER, "").split())
    return "    %s\n    assert \" \".join(capsys.readouterr().out.split()) == %r" % (call, expected)


def _inverse_names(key):
    for first, second in INVERSE_WORDS:
        owner, dot, name = key.rpartition(".")
        parts = name.split("_")
        if first in parts:
            yield key, owner + dot + "_".join(second if part == first else part for part in parts)


def _is_rounded(was, written, came):
    """Whether a number was written with fewer digits, as `1s` for 1001: then it is not meant to come back."""
    numbers = [literal(text)[1] for text in (was, came)]
    if was == came or not all(isinstance(number, (int, float)) for number in numbers):
        return False
    return len(re.sub(r"\D", "", written).strip("0")) < len(re.sub(r"\D", "", was).strip("0"))


def _equal(runner, want, source):
    """Whether two expressions have equal values."""
    try:
        one, other = runner.guard.call(
            lambda: runner.evaluate_in_test("((%s), (%s))" % (want.strip(), source)), runner.seconds)
        if isinstance(one, float) and isinstance(other, (int, float)):
            return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9) or one != one and other != other
        return bool(one == other) or repr(one) == repr(other)
    except BaseException:
        return False
