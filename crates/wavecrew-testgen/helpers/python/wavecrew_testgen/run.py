"""Runs one case in this process and returns its outcome."""
import asyncio
import io
import itertools
import random
import re
import sys
import types

from . import argument_checks, closures, observe, sandbox, written_files
from .cases import method_call
from .naming import MAX_LENGTH
from .process_state import ProcessState

MAX_ITEMS = 30
MAX_OUTPUT = 4000
MAX_CACHED = 30000
# Facts about the state of the object: its attributes, what it holds, its length.
STATE = re.compile(r"@(subject\.|\w+\(subject\))")
SIMPLE = (bool, int, float, str)
ITERATORS = (types.GeneratorType, map, filter, zip, enumerate, reversed, itertools.chain, itertools.islice,
             itertools.accumulate, itertools.zip_longest, itertools.starmap, itertools.groupby, itertools.product,
             itertools.permutations, itertools.combinations, itertools.takewhile, itertools.dropwhile)


class Outcome:
    """`how` is `returns`, `raises`, `hangs` or `refused`; `facts` are what a test asserts, in order."""

    __slots__ = ("how", "facts", "wrap", "features", "why", "error", "explicit", "kind", "example", "random", "idle", "odd")

    def __init__(self, how, facts=(), wrap="{}", why=None):
        self.how = how
        self.facts = facts
        self.wrap = wrap
        self.why = why
        self.features = frozenset()
        self.error = None
        self.explicit = False
        self.kind = None
        self.example = False
        self.random = False  # whether it used random numbers
        self.idle = False  # whether a method returned None and changed nothing
        self.odd = False  # whether its arguments are of kinds that nobody seems to pass

    def same(self, other):
        return self.how == other.how and self.facts == other.facts and self.wrap == other.wrap

    def test_fails_on(self, other):
        """Whether a test of this outcome fails on another one. Facts that it does not assert may differ."""
        if self.how != other.how or self.wrap != other.wrap:
            return True
        if self.how == "raises" and (self.facts[0][1] != other.facts[0][1] or self.facts[0][2] not in ("", other.facts[0][2])):
            return True
        found = set(other.facts)
        return any(fact not in found for fact in self.facts if fact[0] != "raises")

    def places(self):
        """The facts about the state of the object."""
        return frozenset(fact[0] for fact in self.facts if STATE.match(fact[0]))

    def data(self):
        return [self.how, [list(fact) for fact in self.facts], self.wrap, self.why, self.explicit, self.error, self.random]


class SetupFailed(Exception):
    """The arguments or the object of a case could not be created."""


class Runner:
    def __init__(self, names, guard, tracer, targets, project_paths, seeded, fixtures, rounds=False):
        self.names = names
        self.namespace = names.namespace
        self.guard = guard
        self.tracer = tracer
        self.targets = targets
        self.paths = frozenset(project_paths)
        self.facts = observe.Facts(names.name_of, rounds)
        self.seeded = seeded
        self.fixtures = fixtures
        self.code = {}
        self.calls = 0
        self.seconds = 0.3  # of processor time, for one call
        self.raises = {}
        self.process_state = ProcessState()
        self.thread_leakers = set()  # targets that leave threads running, which would add up
        self.like = None
        self.trace_setup = False

    def compiled(self, source):
        code = self.code.get(source)
        if code is None:
            if len(self.code) > MAX_CACHED:
                self.code.clear()
            code = self.code[source] = compile(source, "<case>", "eval")
        return code

    def evaluate(self, source):
        return eval(self.compiled(source), self.namespace)

    def evaluate_in_test(self, source):
        """The value of an expression under the autouse fixtures."""
        fixture_values = self.fixtures.values_for_call()
        if fixture_values is None:
            return self.evaluate(source)
        try:
            return eval(self.compiled(source), self.namespace, fixture_values.make_autouse())
        finally:
            fixture_values.finalize()

    def run(self, case, traced=True, like=None):
        """The outcome of a case. Never raises, whatever the code under test does.

        `like` is an earlier outcome: the same facts about the state of the object are recorded, changed or not."""
        held = sys.stdout, sys.stderr
        limit = sys.getrecursionlimit()
        try:
            self.like = like
            return self._guarded(case, traced)
        except sandbox.TimedOut:  # a second signal, during the handling of the first
            self.guard.disarm()
            sys.settrace(None)
            return Outcome("hangs", why="no result after %s s" % self.seconds)
        finally:
            sys.setrecursionlimit(limit)
            sys.stdout, sys.stderr = held

    def _guarded(self, case, traced):
        self.calls += 1
        if case.target in self.thread_leakers:
            return Outcome("refused", why=sandbox.THREAD_LEFT_RUNNING)
        target = self.targets[case.target]
        features = frozenset()
        out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="replace", write_through=True)
        sys.stdout = sys.stderr = out
        sys.setrecursionlimit(_stack_depth() + sandbox.MAX_RECURSION)
        if self.seeded:
            random.seed(0)
            seeded_state = random.getstate()
        try:
            try:
                self.tracer.features = set()
                outcome = self.guard.call(lambda: self._run_with_fixtures(case, target, out, traced), self.seconds)
            finally:
                if traced:
                    features = self.tracer.stop()
        except sandbox.TimedOut:
            outcome = Outcome("hangs", why="no result after %s s" % self.seconds)
        except SetupFailed as error:
            outcome = Outcome("refused", why="setup: %s" % error)
        except MemoryError:
            outcome = Outcome("refused", why="runs out of memory")
        except BaseException as error:
            outcome = Outcome("refused", why="%s while its result was observed" % type(error).__name__)
        if self.guard.expired:
            outcome = Outcome("hangs", why="no result after %s s" % self.seconds)
        elif self.guard.refused is not None:
            outcome = Outcome("refused", why=self.guard.refused)
            if self.guard.refused is sandbox.THREAD_LEFT_RUNNING:
                self.thread_leakers.add(case.target)
        outcome.features = features
        outcome.random = self.seeded and random.getstate() != seeded_state
        if self.guard.written:
            written_files.clear(self.guard.folder)
        return outcome

    def _run_with_fixtures(self, case, target, out, traced):
        fixture_values = self.fixtures.values_for_call()
        if fixture_values is None:
            return self._run_restoring_state(case, target, out, traced, fixture_values)
        changed_shared = None
        try:
            try:
                fixture_values.make_autouse()
            except Exception as error:
                raise SetupFailed(type(error).__name__)
            outcome = self._run_restoring_state(case, target, out, traced, fixture_values)
            changed_shared = fixture_values.changed_shared()
            if changed_shared:
                return Outcome("refused", why="changes the shared fixture %s, which other tests use" % changed_shared[0])
            return outcome
        finally:
            fixture_values.finalize()
            if changed_shared != [] and fixture_values.snapshots:
                self.fixtures.renew_shared()

    def _run_restoring_state(self, case, target, out, traced, fixture_values):
        """Runs a case and restores the state of the process."""
        self.process_state.save()
        changed = None
        try:
            outcome = self._run_case(case, target, out, traced, fixture_values)
        finally:
            changed = self.process_state.restore()
        return Outcome("refused", why=changed) if changed else outcome

    def _run_case(self, case, target, out, traced, fixture_values):
        if target.how == "snippet":
            return self._run_snippet(case, target, out, traced)
        scope = {}
        arguments = []
        if traced and self.trace_setup:
            self.tracer.start()
        try:
            for index, (name, source) in enumerate(case.args):
                scope["a%d" % index] = eval(self.compiled(source), self.namespace, fixture_values)
                arguments.append((name, "a%d" % index))
            if case.receiver is not None:
                scope["subject"] = eval(self.compiled(case.receiver), self.namespace, fixture_values)
                if not _has_method(scope["subject"], target):
                    raise TypeError("an object of another class")
                for step, args in case.steps:
                    self._step(scope["subject"], step, args, fixture_values)
        except Exception as error:
            raise SetupFailed(type(error).__name__)
        before = [self._try_source(scope[key]) if _is_mutable(scope[key]) else None for _, key in arguments]
        state = self._snapshot(scope["subject"]) if case.receiver is not None and self.like is None else None
        wrap = ["{}"]
        try:
            call = self.compiled(target.expression(arguments, case.receiver is not None))
            if traced and not self.trace_setup:  # the test does not assert what the setup reaches
                self.tracer.start()
            result = eval(call, self.namespace, scope)
            if target.manages_context and hasattr(type(result), "__enter__"):
                wrap[0] = "with {}"
                with result as value:
                    facts, kind = self.facts.of(value), type(value)
            else:
                result = self._consume(result, wrap)
                if target.returns_sorted and type(result) is dict and len(result) > 1 and wrap[0] == "{}":
                    wrap[0], result = "list({}.items())", list(result.items())
                if case.receiver is not None and result is scope["subject"] and not isinstance(result, SIMPLE):
                    facts = (("{}", "is", "@subject"),)  # its state is compared below
                else:
                    facts = self._facts(result)
                kind = type(result)
            outcome = Outcome("returns", facts, wrap[0])
            outcome.kind = kind
        except (sandbox.TimedOut, MemoryError):
            raise
        except BaseException as error:
            if isinstance(error, RuntimeError) and str(error) == "can't start new thread":
                return Outcome("refused", why="starts more threads than the sandbox allows")
            outcome = self._raised(error, wrap[0])
        extra = []
        for (name, source), (_, key), old in zip(case.args, arguments, before):
            if old is not None:
                new = self._try_source(scope[key])
                if new is not None and new != old:
                    extra.append(("@" + key, "==", new))
        if self.like is not None:
            extra.extend(self._state_at(scope.get("subject"), self.like.places()))
        elif case.receiver is not None and not target.is_read_only:
            # None from a function that returns values is a result, not a sign of an effect.
            returns_none = outcome.how == "returns" and outcome.kind is type(None) and not target.returns_value
            # The object itself is no result either.
            returns_none = returns_none or outcome.how == "returns" and result is scope["subject"]
            after = self._snapshot(scope["subject"])
            outcome.idle = returns_none and after == state
            if returns_none or after != state:
                extra.extend(self._state_facts(scope["subject"], state, after))
        return self._with_effects(outcome, extra, out, [(key, scope[key]) for _, key in arguments])

    def _run_snippet(self, case, target, out, traced):
        """Runs statements of a test, and observes the expression that it asserts."""
        setup, expression = target.parts(case.args)
        wrap = ["{}"]
        try:
            statements, observed = self._compiled_snippet(setup, expression)
        except (SyntaxError, ValueError, OverflowError, MemoryError, RecursionError):
            raise SetupFailed("SyntaxError")
        scope = dict(target.scope)
        try:
            if traced:
                self.tracer.start()
            exec(statements, scope)
            result = self._consume(eval(observed, scope), wrap)
            outcome = Outcome("returns", self._facts(result), wrap[0])
            outcome.kind = type(result)
        except (sandbox.TimedOut, MemoryError):
            raise
        except BaseException as error:
            if isinstance(error, NameError):
                raise SetupFailed("NameError")  # a part of its file that did not load
            outcome = self._raised(error, wrap[0])
        return self._with_effects(outcome, [], out, [])

    def _compiled_snippet(self, setup, expression):
        key = (setup, expression)
        code = self.code.get(key)
        if code is None:
            if len(self.code) > MAX_CACHED:
                self.code.clear()
            code = self.code[key] = compile(setup, "<case>", "exec"), compile(expression, "<case>", "eval")
        return code

    def _with_effects(self, outcome, extra, out, arguments):
        """The outcome with facts about written files and printed text."""
        if self.guard.written:
            extra.extend(written_files.facts(self.guard.written, arguments))
        if out.closed:
            return Outcome("refused", why="closes standard output")
        text = out.buffer.getvalue()
        if text and len(text) < MAX_OUTPUT:
            try:
                extra.append(("@out", "==", repr(text.decode("utf-8"))))
            except UnicodeDecodeError:
                return Outcome("refused", why="prints bytes that are not text")
        facts = tuple(outcome.facts) + tuple(extra)
        # The path of the temporary folder differs from run to run.
        outcome.facts = tuple(fact for fact in facts if self.guard.folder[:-1] not in fact[2])
        if not outcome.facts:
            return Outcome("refused", why="its result changes from call to call")
        return outcome

    def _step(self, subject, step, args, fixture_values):
        values = {"subject": subject}
        for index, (_, source) in enumerate(args):
            values["a%d" % index] = eval(self.compiled(source), self.namespace, fixture_values)
        arguments = [(name, "a%d" % index) for index, (name, _) in enumerate(args)]
        eval(self.compiled(method_call("subject", step, arguments)), self.namespace, values)

    def _facts(self, result):
        facts = self.facts.of(result)
        if closures.is_own(result, self.paths) and self.names.name_of(result) is None:
            facts += closures.facts(result, self.facts.of, self.evaluate, self.names.exception_name)
        return facts

    def _consume(self, result, wrap):
        """Runs what the call only started: coroutines and generators."""
        if isinstance(result, types.CoroutineType):
            wrap[0] = "asyncio.run({})"
            return asyncio.run(result)
        if isinstance(result, types.AsyncGeneratorType):
            wrap[0] = "asyncio.run(collect({}))"

            async def collect(items):
                return [item async for item in items]

            return asyncio.run(collect(result))
        if isinstance(result, ITERATORS) or _is_plain_iterator(result):
            wrap[0] = "list({})"
            items = list(itertools.islice(result, MAX_ITEMS + 1))
            if len(items) > MAX_ITEMS:
                wrap[0] = "list(itertools.islice({}, 10))"
                items = items[:10]
            return items
        if closures.is_own(result, self.paths) and closures.decorates(result):
            wrap[0] = "{}(abs)"
            return result(abs)
        return result

    def _raised(self, error, wrap):
        kind = type(error)
        name = self.names.exception_name(kind)
        explicit, line = self._is_explicit_raise(error)
        try:
            text = str(error)
        except Exception:  # a __str__ of the project
            text = ""
        message = ""
        if explicit and not any(part in text for part in (" at 0x", self.guard.folder[:-1])):
            message = text[:MAX_LENGTH]
        outcome = Outcome("raises", (("raises", name, message),), wrap)
        outcome.explicit = explicit
        outcome.error = [kind.__name__, text[:200], line]
        outcome.kind = kind
        return outcome

    def _is_explicit_raise(self, error):
        """Whether a `raise` of the project raised the exception, and its line."""
        last = inside = None
        step = error.__traceback__
        while step is not None:
            last = (step.tb_frame.f_code.co_filename, step.tb_lineno)
            if last[0] in self.paths:
                inside = last
            step = step.tb_next
        if inside is None:
            return False, 0
        if last is not inside:
            # An error of a function that the caller passed says nothing about the project.
            return False, 0 if last[0] == "<case>" else inside[1]
        lines = self.raises.get(last[0])
        if lines is None:
            lines = self.raises[last[0]] = argument_checks.lines_at(last[0])
        names = lines.get(last[1])
        return names is not None and argument_checks.is_raised_by(type(error), names), last[1]

    def _snapshot(self, subject):
        """The attributes of an object as source text, including private ones."""
        values = dict(getattr(subject, "__dict__", ()))
        for base in type(subject).__mro__:
            for name in observe.slots_of(base):
                if hasattr(subject, name):
                    values[name] = getattr(subject, name)
        return {name: self._try_source(value) for name, value in list(values.items())[:30] if isinstance(name, str)}

    def _state_facts(self, subject, before, after):
        """Facts about a change: public attributes and properties, what is held, or else some simple ones that stay the same."""
        facts, still = [], []
        for name, item in observe.public_attributes(subject)[:8]:
            same = name in after and after[name] == before.get(name)
            if same and not isinstance(item, SIMPLE):
                continue
            found = self.facts.of(item, "@subject." + name, 2)
            (still if same else facts).extend(fact for fact in found if fact[1] != "type" and not (same and len(fact[2]) > 40))
        held = self._contents(subject)
        return (facts[:6] or ([] if held else still[:3])) + held

    def _state_at(self, subject, places):
        if not places:
            return []
        facts = []
        for name, item in observe.public_attributes(subject)[:8]:
            if any(re.match(r"@subject\.%s\b" % name, place) for place in places):
                facts.extend(self.facts.of(item, "@subject." + name, 2))
        if any(place.endswith("(subject)") for place in places):
            facts.extend(self._contents(subject))
        return facts

    def _contents(self, subject):
        return [("@" + place, operator, source) for place, operator, source in self.facts.contents(subject, "subject")]

    def _try_source(self, value):
        try:
            return self.facts.source(value)
        except Exception:
            return None


def _has_method(subject, target):
    """Whether the object has the target itself, rather than another class's method of the same name."""
    for base in type(subject).__mro__:
        if target.name in vars(base):
            return base is target.owner or target.owner is None
    return isinstance(subject, target.owner) if isinstance(target.owner, type) else True


def _is_plain_iterator(value):
    """Whether a value is an iterator of Python itself, such as that of a list."""
    return hasattr(type(value), "__next__") and type(value).__module__ in ("builtins", "itertools")


def _is_mutable(value):
    return isinstance(value, (list, dict, set, bytearray))


def _stack_depth():
    frame, depth = sys._getframe(), 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    return depth
