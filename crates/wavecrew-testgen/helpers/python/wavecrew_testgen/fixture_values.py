"""Values of the project's fixtures in the child: created for each call as pytest would, and finalized after it."""
import ast
import asyncio
import builtins
import pathlib
import shutil
import sys
import types

from . import fixtures, snapshot
from .import_paths import module_name_and_folder
from .names import STANDARD
from .written_files import SHARED

# Names that generated tests use otherwise.
RESERVED = ("request", "capsys", "monkeypatch", "pytest", "expected", "message", "result", "value", "subject", "collect")
LOAD_SECONDS = 8
MAKE_SECONDS = 1


class Fixtures:
    """The fixtures as functions. Empty when a file does not load; `failure` has the reason."""

    def __init__(self, paths, guard):
        self.guard = guard
        self.functions = {}
        self.params = {}
        self.autouse = []
        self.failure = None
        self.problems = {}
        self.shared = None
        files, self.known = fixtures.read(paths)
        try:
            for file in files:
                guard.call(lambda: self._load(file), LOAD_SECONDS)
                if guard.refused is not None:
                    raise ImportError(guard.refused)
        except BaseException as error:
            self.failure = "%s: %s" % (type(error).__name__, str(error)[:200])
            self.functions = {}
            self.known = {}
        self.shared = FixtureValues(self, None)

    def _load(self, file):
        name, folder = module_name_and_folder(file.path)
        module = types.ModuleType(name)
        module.__file__, module.__package__ = file.path, name.rpartition(".")[0]
        sys.modules[name] = module
        if folder not in sys.path:
            sys.path.append(folder)
        own = [fixture for fixture in file.fixtures.values() if fixture.problem is None]
        for fixture in own:
            fixture.node.decorator_list = []
        exec(compile(file.tree, file.path, "exec", dont_inherit=True), vars(module))
        for fixture in own:
            if self.known[fixture.name] is fixture:
                self.functions[fixture.name] = getattr(module, fixture.node.name)
                if fixture.params is not None:
                    tree = ast.fix_missing_locations(ast.Expression(fixture.params))
                    self.params[fixture.name] = _first(eval(compile(tree, file.path, "eval"), vars(module)))

    def set_autouse(self, autouse):
        """From now on, every call gets these."""
        self.autouse = [name for name in autouse if name in self.functions]

    def values_for_call(self):
        """Values for one call: each is created on first use and stays until the end of the call."""
        return FixtureValues(self, self.shared) if self.functions else None

    def renew_shared(self):
        """Shared objects are created again on their next use."""
        self.shared.finalize()
        self.shared = FixtureValues(self, None)

    def try_autouse(self):
        """The autouse fixtures that can be created here, and why others cannot."""
        found, problems = [], {}
        for name in fixtures.autouse(self.known):
            why = self.known[name].problem or self._problem_of([*found, name])
            if why is None:
                found.append(name)
            else:
                problems[name] = why
        return found, problems

    def _problem_of(self, names):
        self.set_autouse(names)
        values = self.values_for_call()
        try:
            self.guard.call(values.make_autouse, MAKE_SECONDS)
        except BaseException as error:
            return "cannot be created: %s: %s" % (type(error).__name__, str(error)[:100])
        finally:
            values.finalize()
            self.renew_shared()
        return self.guard.refused and "cannot be created: %s" % self.guard.refused

    def usable_names(self, names):
        """Names of fixtures that have no other meaning in a test."""
        return [name for name in sorted(self.functions)
                if not (name in names.namespace or name in RESERVED or name in STANDARD or hasattr(builtins, name))]

    def values(self, wanted, facts):
        """The fixtures that give the same value twice, with the value and facts about it."""
        found = {}
        self.problems = {name: fixture.problem for name, fixture in self.known.items() if fixture.problem}
        for name in wanted:
            try:
                value, value_facts = self._made(name, facts)
                if self._made(name, facts)[1] == value_facts:
                    found[name] = value, value_facts
                else:
                    self.problems[name] = "has another value each time"
            except snapshot.Opaque as error:
                self.problems[name] = "is shared by tests, and changes of it cannot be detected: %s" % error
            except BaseException as error:
                self.problems[name] = "cannot be created: %s: %s" % (type(error).__name__, str(error)[:100])
        return found

    def _made(self, name, facts):
        values = self.values_for_call()
        try:
            value = self.guard.call(lambda: values.make_autouse()[name], MAKE_SECONDS)
            value_facts = [[place, how, text.replace(self.guard.folder, "")] for place, how, text in facts(value)]
        finally:
            values.finalize()
            self.renew_shared()
        if self.guard.refused is not None:
            raise PermissionError(self.guard.refused)
        return value, value_facts

    def param_sources(self, source):
        """The first parameter of each parametrised fixture as source text. Drops fixtures without one."""
        found = {}
        for name, value in list(self.params.items()):
            try:
                found[name] = source(value)
            except Exception:
                self.drop(name, "has parameters without a literal form")
        return found

    def drop(self, name, why):
        """Drops a fixture and those that depend on it."""
        self.known[name].problem = why
        for other in self.known:
            if name in fixtures.with_dependencies([other], self.known):
                self.known[other].problem = self.known[other].problem or "depends on %s, which %s" % (name, why)
                self.functions.pop(other, None)


def _first(params):
    value = list(params)[0]
    return value.values[0] if hasattr(value, "values") and hasattr(value, "marks") else value


class FixtureValues(dict):
    """Fixture values by name, as the namespace of an expression. `shared` holds those that outlive a call."""

    def __init__(self, all_fixtures, shared):
        super().__init__()
        self.fixtures = all_fixtures
        self.shared = shared
        self.finalizers = []
        self.snapshots = {}

    def make_autouse(self):
        """Creates the autouse fixtures."""
        for name in self.fixtures.autouse:
            (self.shared if self.fixtures.known[name].shared else self)[name]
        return self

    def __missing__(self, name):
        fixture = self.fixtures.known.get(name)
        if name not in self.fixtures.functions:
            value = self._built_in(name, None)
        elif fixture.shared and self.shared is not None:
            value = self.shared[name]
            self.snapshots[name] = snapshot.take(value)
        else:
            arguments = {dependency: self._built_in(dependency, name) if dependency == "request" else self[dependency] for dependency in fixture.dependencies}
            value = self._started(self.fixtures.functions[name](**arguments))
        self[name] = value
        return value

    def _started(self, value):
        """The value of a fixture function of any kind."""
        if isinstance(value, types.GeneratorType):
            self.finalizers.append(lambda: next(value, None))
            return next(value)
        if isinstance(value, types.CoroutineType):
            return asyncio.run(value)
        if isinstance(value, types.AsyncGeneratorType):
            loop = asyncio.new_event_loop()
            self.finalizers.append(loop.close)
            self.finalizers.append(lambda: loop.run_until_complete(value.__anext__()))
            return loop.run_until_complete(value.__anext__())
        return value

    def _built_in(self, name, requester):
        if name == "tmp_path":
            return self._folder("given")
        if name == "tmp_path_factory":
            return Folders(self._folder(SHARED if self.shared is None else "folders"))
        if name == "monkeypatch":
            from _pytest.monkeypatch import MonkeyPatch

            patch = MonkeyPatch()
            self.finalizers.append(patch.undo)
            return patch
        if name == "request" and requester is not None:
            return Request(self, requester)
        raise KeyError(name)  # then the name is looked up elsewhere

    def _folder(self, name):
        folder = pathlib.Path(self.fixtures.guard.folder) / name
        shutil.rmtree(str(folder), ignore_errors=True)
        folder.mkdir()
        return folder

    def changed_shared(self):
        """Shared objects that have changed since their first use."""
        return [name for name, before in self.snapshots.items() if _snapshot_or_none(self[name]) != before]

    def finalize(self):
        """Runs the code after each `yield`, last fixture first."""
        while self.finalizers:
            try:
                self.finalizers.pop()()
            except Exception:
                pass


def _snapshot_or_none(value):
    try:
        return snapshot.take(value)
    except snapshot.Opaque:
        return None


class Folders:
    """Replaces `tmp_path_factory`."""

    def __init__(self, base):
        self.base = base
        self.count = 0

    def getbasetemp(self):
        return self.base

    def mktemp(self, basename, numbered=True):
        self.count += 1
        folder = self.base / ("%s%d" % (basename, self.count) if numbered else basename)
        folder.mkdir()
        return folder


class Request:
    """Replaces `request`, without the attributes about tests, because there are no tests yet."""

    def __init__(self, values, name):
        self._values = values
        self.fixturename = name
        self.scope = values.fixtures.known[name].scope
        if name in values.fixtures.params:
            self.param = values.fixtures.params[name]

    def addfinalizer(self, function):
        self._values.finalizers.append(function)

    def getfixturevalue(self, name):
        return self._values[name]
