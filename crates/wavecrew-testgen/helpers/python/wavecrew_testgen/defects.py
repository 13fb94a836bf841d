"""Suspected defects: behaviour that a test should not record."""
import ast
import contextlib
import doctest
import inspect
import io
import math
import re

from . import doctests, expected_errors
from .cases import Case, arguments
from .literals import literal
from .plausibility import plausible, plausible_setup, with_parameters
from .quarantine import call_text
from .type_hints import source_fits

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
# Words with which documentation promises that one function undoes another.
PROMISE = re.compile(r"\b(invers|revers|undo|opposite|counterpart|round.?trip|restor|invert|back (in)?to|recover)", re.I)
MAX_NOTES = 12


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
        self.notes = []  # pairs of a call and its odd behaviour, which is not enough for a defect
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
                what = "%s: %s" % (name, message)
                if self._is_plausible(case):
                    self._add_defect("internal error", case, what, line)
                else:
                    self.notes.append((call_text(case.data()), "raises " + what))

    def _is_plausible(self, case):
        """Whether people pass such values: no callbacks, and only the kinds that examples and call sites show."""
        if any(self._is_function(source) for source in expected_errors.sources(case)):
            return False  # the caller is responsible for its errors
        return plausible(case, self.targets[case.target]) and plausible_setup(case, self.targets)

    def _is_function(self, source):
        plain, _ = literal(source)
        return not plain and callable(self.search.value_of(source))

    def _has_documented_types(self, case):
        """Whether all arguments have the documented kind of their parameter."""
        target = self.targets[case.target]
        made = self._construction(case.receiver)
        if not target.offered or made is None or not (case.args or made[1]):
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
            parameter is not None and parameter.documented and parameter.style != "many" and source_fits(source, parameter.kinds[0][0])
            for parameter, source in with_parameters(args, target))

    def _examples(self):
        """Examples in docstrings that show something else."""
        runner = self.search.runner
        failing, passed = doctests.failures(self.module, runner.guard, self.search.report.is_late)
        # When most examples fail, nobody runs them: they are sketches.
        kept = len(failing) <= max(1, passed)
        for failure in failing:
            target = self._target_of(failure)
            if target is None:
                continue
            call = self._alone(failure) or failure.source
            what = "shows %s, but its docstring says %s" % (failure.got.strip(), failure.want.strip())
            self.calls.add(call)
            if kept and doctests.is_exact(failure):
                test = self._example_test(failure)
                self._add_defect("example disagrees", Case(target, []), what, failure.line, test, call)
            else:
                self.notes.append((call, what))

    def _target_of(self, failure):
        """The target whose docstring has the example, or that the example calls."""
        key = failure.name[len(self.module.__name__) + 1:]
        if key in self.targets and self.targets[key].public:
            return key
        called = (key for key, target in self.targets.items() if target.name + "(" in failure.source and target.public)
        return next(called, None)

    def _alone(self, failure):
        """The example as an expression that needs no other example, or None."""
        call = self.examples.resolved(failure.source, {})
        if call is None:
            return None
        shown, _ = self._shown(call)
        return call if shown is not None and shown.split() == failure.got.split() else None

    def _example_test(self, failure):
        """The body of a test that fails until the example is right."""
        call = self._alone(failure)
        if call is not None:
            return _example_test(call, failure.want, self._shown(call)[1])
        return ("    tests = doctest.DocTestFinder().find(importlib.import_module(%r))\n"
                "    [test] = [test for test in tests if test.name == %r]\n"
                "    assert doctest.DocTestRunner().run(test).failed == 0" % (self.module.__name__, failure.name))

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

    def _value(self, source):
        runner = self.search.runner
        try:
            value = runner.guard.call(lambda: runner.evaluate_in_test(source), runner.seconds)
            return "returns", repr(value)
        except BaseException:
            return "raises", None

    def _round_trips(self):
        """Pairs of functions whose names suggest that they undo each other."""
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
            if written[0] != "returns" or was[0] != "returns" or how == "returns" and (
                    _is_rounded(was[1], written[1], shown) or _is_reordered(was[1], shown)):
                continue
            if how == "returns" and _equal(self.search.runner, source, call):
                successes += 1
            else:
                failures.append((case, call, shown if how == "returns" else "an error"))
        # If almost no value comes back, the names are a coincidence.
        if failures and successes >= max(3, len(failures) // 10):
            case, call, shown = min(failures, key=lambda item: (item[2] == "an error", len(item[1])))
            case = Case(case.target, case.args, case.receiver)  # the calls before it do not matter
            what = "%s returns %s" % (call, shown)
            if self._promises(target, other):
                self._add_defect("round trip", case, what, test="    assert %s == %s" % (call, case.args[0][1]))
            else:
                self.notes.append((call, "returns %s, and nothing says whether it should return its argument" % shown))

    def _promises(self, target, other):
        """Whether the documentation of one of two functions says that they undo each other."""
        for one, two in ((target, other), (other, target)):
            things = [thing for thing in (one.function, one.owner) if thing is not None]
            for doc in (inspect.getdoc(thing) or "" for thing in things):
                if PROMISE.search(doc) and re.search(r"\b%s\b" % re.escape(two.name), doc):
                    return True
        return False

    def _fits_likeliest_kind(self, case):
        target = self.targets[case.target]
        return source_fits(case.args[0][1], target.parameters[0].kinds[0][0])


def one_argument(target):
    return bool(target.parameters) and sum(1 for p in target.parameters if p.required) == 1


def _example_test(call, want, printed):
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


def _is_reordered(was, came):
    """Whether the same items came back in another order, or each once: then the order is not part of the value."""
    values = [literal(text)[1] for text in (was, came)]
    return all(isinstance(value, (list, tuple)) for value in values) and set(map(repr, values[0])) == set(map(repr, values[1]))


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
