"""Examples in docstrings, run as the doctest module runs them: in order, with their options, output and value together."""
import ast
import builtins
import doctest
import random
import re

SECONDS = 2.0  # of processor time, for the examples of one docstring
MAX_DOCSTRINGS = 400
# As lenient as doctest can be: docstrings that nobody runs are rarely exact about these.
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
# Errors that say that an example needs something that is not here.
MISSING = (NameError, ImportError, OSError, EOFError)
NUMBER = re.compile(r"\d+\.\d+(?:e[-+]?\d+)?")


class Failure:
    """An example that shows something else than its docstring says."""

    def __init__(self, test, example, got, value):
        self.name = test.name
        self.source = example.source.strip()
        self.want = example.want
        self.got = got
        self.value = value  # of the example, if it showed one
        self.line = (test.lineno or 0) + example.lineno + 1
        self.namespace = test.globs
        self.is_first = example.lineno == test.examples[0].lineno


class _Runner(doctest.DocTestRunner):
    def __init__(self):
        super().__init__(verbose=False, optionflags=FLAGS)
        self.disagreements = []
        self.lacks_context = False  # an earlier example failed, and later ones may need it

    def report_start(self, out, test, example):
        builtins._ = None

    def report_success(self, out, test, example, got):
        pass

    def report_failure(self, out, test, example, got):
        if not self.lacks_context:
            self.disagreements.append(Failure(test, example, got, getattr(builtins, "_", None)))

    def report_unexpected_exception(self, out, test, example, exc_info):
        kind, error, _ = exc_info
        if not (self.lacks_context or issubclass(kind, MISSING) or not issubclass(kind, Exception)):
            self.disagreements.append(Failure(test, example, "%s: %s" % (kind.__name__, error), None))
        self.lacks_context = True


def failures(module, guard, is_late):
    """The failures of a module, and how many examples passed."""
    try:
        tests = doctest.DocTestFinder().find(module, module.__name__)
    except Exception:  # an object of the module that cannot be inspected
        return [], 0
    found, passed = [], 0
    for test in tests[:MAX_DOCSTRINGS]:
        if is_late():
            break
        failing = _failures_of(test, guard)
        if failing is None:
            continue
        # A second run, because an example may depend on time, chance or effects of earlier examples.
        shown = [failure.got for failure in _failures_of(test, guard) or ()] if failing else []
        found += [failure for failure in failing if failure.got in shown and not is_same(failure)]
        passed += len(test.examples) - len(failing)
    return found, passed


def _failures_of(test, guard):
    """The failures of one docstring; None when it does something that the sandbox refuses."""
    runner = _Runner()
    random.seed()
    try:
        guard.call(lambda: runner.run(_copy(test), clear_globs=False), SECONDS)
    except BaseException:
        return None
    return None if guard.expired or guard.refused is not None else runner.disagreements


def _copy(test):
    return doctest.DocTest(test.examples, dict(test.globs), test.name, test.filename, test.lineno, test.docstring)


def is_same(failure):
    """Whether an example shows what its docstring means: the same value, or the same text but for order, quotes, digits."""
    want, got = failure.want.strip(), failure.got.strip()
    if _plain(want) == _plain(got) or sorted(_plain(want)) == sorted(_plain(got)):
        return True
    if _same_but_for_digits(want, got):
        return True
    try:
        expected = eval(want, dict(failure.namespace))
        return bool(expected == failure.value) or repr(expected) == repr(failure.value)
    except Exception:
        return False


def _plain(text):
    return re.sub(r"\s+|\b[uU](?=')", "", text.replace('"', "'"))


def _same_but_for_digits(want, got):
    """Whether numbers differ only in digits that the docstring leaves out."""
    pairs = list(zip(NUMBER.findall(want), NUMBER.findall(got)))
    if not pairs or NUMBER.sub("#", want) != NUMBER.sub("#", got):
        return False
    return all(abs(float(one) - float(other)) <= 10.0 ** -(len(one.partition(".")[2]) - 1) for one, other in pairs)


def is_exact(failure):
    """Whether the docstring shows a value or output, rather than a sketch such as `<Key foo>` or `Key('foo')`."""
    want, got = failure.want.strip(), failure.got.strip()
    if re.search(r"<[^>\n]*>", want.replace(doctest.BLANKLINE_MARKER, "")) or re.search(r"<[^>\n]*>", got):
        return False
    return failure.value is None or _is_literal(want) or not _is_literal(got)


def _is_literal(text):
    try:
        ast.literal_eval(text)
        return True
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False
