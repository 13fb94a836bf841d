"""Fixtures of the project in the child: loaded, made for each call as pytest would, and finished after it."""
import ast
import asyncio
import builtins
import pathlib
import shutil
import sys
import types

from . import fixtures, snapshot
from .written_files import SHARED
from .names import STANDARD, place

# Names that generated tests use for something else.
TAKEN = ("request", "capsys", "monkeypatch", "pytest", "expected", "message", "result", "value", "subject", "collect")
LOAD_SECONDS = 8
MAKE_SECONDS = 1


class Fixtures:
    """The fixtures as functions. Nothing is there when a file does not load; `failure` says why, then."""

    def __init__(self, paths, guard):
        self.guard = guard
        self.functions = {}
        self.params = {}
        self.automatic = []
        self.failure = None
        self.troubles = {}
        self.shared = None
        files, self.known = fixtures.read(paths)
        try:
            for file in files:
                guard.call(lambda: self._load(file), LOAD_SECONDS)
                if guard.tried is not None:
                    raise ImportError(guard.tried)
        except BaseException as error:
            self.failure = "%s: %s" % (type(error).__name__, str(error)[:200])
            self.functions = {}
            self.known = {}
        self.shared = Given(self, None)

    def _load(self, file):
        name, folder = place(file.path)
        module = types.ModuleType(name)
        module.__file__, module.__package__ = file.path, name.rpartition(".")[0]
        sys.modules[name] = module
        if folder not in sys.path:
            sys.path.append(folder)
        own = [fixture for fixture in file.fixtures.values() if fixture.trouble is None]
        for fixture in own:
            fixture.node.decorator_list = []
        exec(compile(file.tree, file.path, "exec", dont_inherit=True), vars(module))
        for fixture in own:
            if self.known[fixture.name] is fixture:
                self.functions[fixture.name] = getattr(module, fixture.node.name)
                if fixture.params is not None:
                    tree = ast.fix_missing_locations(ast.Expression(fixture.params))
                    self.params[fixture.name] = _first(eval(compile(tree, file.path, "eval"), vars(module)))

    def begin(self, automatic):
        """From here on every call has these."""
        self.automatic = [name for name in automatic if name in self.functions]

    def given(self):
        """For one call: an object is made when it is first asked for, and is the same to the end of the call."""
        return Given(self, self.shared) if self.functions else None

    def renew(self):
        """Shared objects are made again when they are next asked for."""
        self.shared.finish()
        self.shared = Given(self, None)

    def try_automatic(self):
        """Of those that every test gets: the ones that can be made here, and why others cannot."""
        found, troubles = [], {}
        for name in fixtures.automatic(self.known):
            why = self.known[name].trouble or self._tried([*found, name])
            if why is None:
                found.append(name)
            else:
                troubles[name] = why
        return found, troubles

    def _tried(self, names):
        self.begin(names)
        given = self.given()
        try:
            self.guard.call(given.begin, MAKE_SECONDS)
        except BaseException as error:
            return "cannot be made: %s: %s" % (type(error).__name__, str(error)[:100])
        finally:
            given.finish()
            self.renew()
        return self.guard.tried and "cannot be made: %s" % self.guard.tried

    def of_use(self, names):
        """Names of fixtures that mean nothing else in a test."""
        return [name for name in sorted(self.functions)
                if not (name in names.namespace or name in TAKEN or name in STANDARD or hasattr(builtins, name))]

    def values(self, wanted, facts):
        """Those that give the same when they are made again, with a value and what can be said about it."""
        found = {}
        self.troubles = {name: fixture.trouble for name, fixture in self.known.items() if fixture.trouble}
        for name in wanted:
            try:
                value, told = self._made(name, facts)
                if self._made(name, facts)[1] == told:
                    found[name] = value, told
                else:
                    self.troubles[name] = "gives another object each time"
            except snapshot.Opaque as error:
                self.troubles[name] = "is shared by tests, and whether they change it cannot be seen: %s" % error
            except BaseException as error:
                self.troubles[name] = "cannot be made: %s: %s" % (type(error).__name__, str(error)[:100])
        return found

    def _made(self, name, facts):
        given = self.given()
        try:
            value = self.guard.call(lambda: given.begin()[name], MAKE_SECONDS)
            told = [[place, how, text.replace(self.guard.folder, "")] for place, how, text in facts(value)]
        finally:
            given.finish()
            self.renew()
        if self.guard.tried is not None:
            raise PermissionError(self.guard.tried)
        return value, told

    def param_sources(self, source):
        """The first value of each fixture that has several, as it can be written down; others cannot be used."""
        found = {}
        for name, value in list(self.params.items()):
            try:
                found[name] = source(value)
            except Exception:
                self.drop(name, "has values that cannot be written down")
        return found

    def drop(self, name, why):
        """Does without one fixture, and without those that ask for it."""
        self.known[name].trouble = why
        for other in self.known:
            if name in fixtures.behind([other], self.known):
                self.known[other].trouble = self.known[other].trouble or "asks for %s, which %s" % (name, why)
                self.functions.pop(other, None)


def _first(params):
    value = list(params)[0]
    return value.values[0] if hasattr(value, "values") and hasattr(value, "marks") else value


class Given(dict):
    """Fixtures by name, as the names of an expression are looked up. `shared` holds those that outlive a call."""

    def __init__(self, all_fixtures, shared):
        super().__init__()
        self.fixtures = all_fixtures
        self.shared = shared
        self.endings = []
        self.pictures = {}

    def begin(self):
        """Makes what every test gets."""
        for name in self.fixtures.automatic:
            (self.shared if self.fixtures.known[name].shared else self)[name]
        return self

    def __missing__(self, name):
        fixture = self.fixtures.known.get(name)
        if name not in self.fixtures.functions:
            value = self._built_in(name, None)
        elif fixture.shared and self.shared is not None:
            value = self.shared[name]
            self.pictures[name] = snapshot.of(value)
        else:
            asked = {need: self._built_in(need, name) if need == "request" else self[need] for need in fixture.needs}
            value = self._begun(self.fixtures.functions[name](**asked))
        self[name] = value
        return value

    def _begun(self, value):
        """The object that a function of any kind gives."""
        if isinstance(value, types.GeneratorType):
            self.endings.append(lambda: next(value, None))
            return next(value)
        if isinstance(value, types.CoroutineType):
            return asyncio.run(value)
        if isinstance(value, types.AsyncGeneratorType):
            loop = asyncio.new_event_loop()
            self.endings.append(loop.close)
            self.endings.append(lambda: loop.run_until_complete(value.__anext__()))
            return loop.run_until_complete(value.__anext__())
        return value

    def _built_in(self, name, asking):
        if name == "tmp_path":
            return self._folder("given")
        if name == "tmp_path_factory":
            return Folders(self._folder(SHARED if self.shared is None else "folders"))
        if name == "monkeypatch":
            from _pytest.monkeypatch import MonkeyPatch

            patch = MonkeyPatch()
            self.endings.append(patch.undo)
            return patch
        if name == "request" and asking is not None:
            return Request(self, asking)
        raise KeyError(name)  # and the name is looked up elsewhere

    def _folder(self, name):
        folder = pathlib.Path(self.fixtures.guard.folder) / name
        shutil.rmtree(str(folder), ignore_errors=True)
        folder.mkdir()
        return folder

    def disturbed(self):
        """Shared objects that are not what they were when they were asked for."""
        return [name for name, before in self.pictures.items() if _picture(self[name]) != before]

    def finish(self):
        """Runs what follows the `yield` of each, the last one first."""
        while self.endings:
            try:
                self.endings.pop()()
            except Exception:
                pass


def _picture(value):
    try:
        return snapshot.of(value)
    except snapshot.Opaque:
        return None


class Folders:
    """Stands in for the maker of temporary folders."""

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
    """Stands in for what pytest tells a fixture about who asks. What is about tests is not there: there are none yet."""

    def __init__(self, given, name):
        self._given = given
        self.fixturename = name
        self.scope = given.fixtures.known[name].scope
        if name in given.fixtures.params:
            self.param = given.fixtures.params[name]

    def addfinalizer(self, function):
        self._given.endings.append(function)

    def getfixturevalue(self, name):
        return self._given[name]
