"""Runs the tests of a project many times over, each time with one small change of its code.

    python warm.py PLAN

PLAN is a JSON file. With `"mode": "baseline"` the suite runs once, and what every test ran is written to `out`. With
`"mode": "run"` each of `jobs` is tried in a process of its own, forked from one that has already loaded the project, and
one line per job is appended to `out`. A job whose change matters while the project is loaded goes to a second process,
which was forked before that. Needs nothing but pytest, and works from Python 3.8 on.
"""

import gc
import json
import os
import resource
import select
import signal
import sys
import threading
import time
import types
import warnings

import pytest


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        plan = json.load(file)
    # As `python -m pytest` has it.
    sys.path[0] = os.getcwd()
    sys.argv = ["pytest"] + plan["args"]
    if plan["mode"] == "baseline":
        baseline(plan)
    else:
        Warm(plan).run()


# ---------------------------------------------------------------- the suite as it is


def baseline(plan):
    recorder = Recorder(plan["files"])
    threading.settrace(recorder.trace)
    sys.settrace(recorder.trace)
    started = time.monotonic()
    code = pytest.main(plan["args"], plugins=[recorder])
    sys.settrace(None)
    if code in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR):
        sys.exit(code)  # without a report: pytest did not run the tests
    report = recorder.report()
    report["loading"] = max(0.0, time.monotonic() - started - sum(t["seconds"] for t in report["tests"]))
    with open(plan["out"], "w", encoding="utf-8") as file:
        json.dump(report, file)


class Recorder:
    """Which lines of the files ran while the project was loaded, and which in each test."""

    def __init__(self, files):
        self.files = {os.path.realpath(name): number for number, name in enumerate(files)}
        self.known = {}
        self.lines = set()
        self.loaded = set()
        self.tests = []
        self.hits = {}
        self.unloaded = []
        self.current = None
        self.foreign = set()

    def trace(self, frame, event, arg):
        name = frame.f_code.co_filename
        try:
            number = self.known[name]
        except KeyError:
            number = self.known[name] = self.files.get(os.path.realpath(name))
        if number is None:
            return None
        # Code that something has executed as text, and not imported, has no origin.
        space = frame.f_globals
        if not (space.get("__spec__") or space.get("__loader__") or space.get("__file__") == name):
            foreign = self.foreign

            def elsewhere(frame, event, arg):
                foreign.add((number, frame.f_lineno))
                return elsewhere

            return elsewhere
        lines = self.lines
        lines.add((number, frame.f_lineno))

        def line(frame, event, arg):
            # The set of the moment: a generator goes on in another test than it began in.
            self.lines.add((number, frame.f_lineno))
            return line

        return line

    def pytest_collectreport(self, report):
        if report.failed:
            self.unloaded.append(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        self.loaded, self.lines = self.lines, set()
        items = session.items
        for number, item in enumerate(items):
            self.current = {"id": item.nodeid, "passed": False, "failed": False, "seconds": 0.0}
            self.tests.append(self.current)
            following = items[number + 1] if number + 1 < len(items) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        return True

    def pytest_runtest_logreport(self, report):
        test, lines = self.current, self.lines
        self.lines = set()
        test["seconds"] += report.duration
        test["failed"] = test["failed"] or report.failed
        if report.when == "call":
            test["passed"] = report.passed and not hasattr(report, "wasxfail")
        # What a fixture made may serve other tests of the file as well.
        owner = report.nodeid.split("::")[0] if report.when == "setup" else len(self.tests) - 1
        for hit in lines:
            self.hits.setdefault(hit, set()).add(owner)

    def report(self):
        of_file = {}
        for number, test in enumerate(self.tests):
            of_file.setdefault(test["id"].split("::")[0], []).append(number)
        hits = []
        for (number, line), owners in sorted(self.hits.items()):
            tests = set()
            for owner in owners:
                tests.update(of_file.get(owner, []) if isinstance(owner, str) else [owner])
            hits.append([number, line, sorted(tests)])
        return {
            "tests": [
                {"id": t["id"], "passed": t["passed"] and not t["failed"], "seconds": t["seconds"]}
                for t in self.tests
            ],
            "hits": hits,
            "loaded": sorted(self.loaded),
            "foreign": sorted(self.foreign - self.loaded - set(self.hits)),
            "unloaded": self.unloaded,
        }


# ---------------------------------------------------------------- one change after the other


class Warm:
    """Has loaded the project, and forks for every change."""

    def __init__(self, plan):
        self.plan = plan
        self.failed = []
        self.cold = Cold(plan)

    def run(self):
        pytest.main(self.plan["args"], plugins=[self])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        items = {item.nodeid: item for item in session.items}
        with open(self.plan["out"], "a", encoding="utf-8") as out:
            for number, job in enumerate(self.plan["jobs"]):
                chosen = [items[name] for name in job["tests"] if name in items]
                with Changed(job) as change:
                    verdict = {"fate": "again"}
                    if not job["cold"] and len(chosen) == len(job["tests"]):
                        verdict = attempt(lambda: self.try_change(change, chosen), job["limit"])
                    if verdict["fate"] == "again":
                        verdict = self.cold.ask(number)
                verdict["number"] = job["number"]
                out.write(json.dumps(verdict) + "\n")
                out.flush()
        return True

    def try_change(self, change, items):
        if not replace_functions(change):
            return {"fate": "again"}
        for number, item in enumerate(items):
            following = items[number + 1] if number + 1 < len(items) else None
            try:
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            except BaseException:
                note(self.failed, item.nodeid)
            if self.failed and not self.plan["all"]:
                break
        return noticed(self.failed)

    def pytest_runtest_logreport(self, report):
        if report.failed:
            note(self.failed, report.nodeid)


class Cold:
    """A process that has loaded pytest and nothing of the project."""

    def __init__(self, plan):
        self.plan = plan
        there, self.questions = os.pipe()
        self.answers, back = os.pipe()
        if fork() == 0:
            os.close(self.questions)
            os.close(self.answers)
            self.serve(there, back)
            os._exit(0)
        os.close(there)
        os.close(back)

    def ask(self, number):
        os.write(self.questions, b"%d\n" % number)
        answer = read_line(self.answers, None)
        return json.loads(answer) if answer else {"fate": "killed", "by": []}

    def serve(self, there, back):
        while True:
            question = read_line(there, None)
            if not question:
                return
            job = self.plan["jobs"][int(question)]
            verdict = attempt(lambda: try_from_scratch(self.plan, job), job["limit"])
            os.write(back, json.dumps(verdict).encode() + b"\n")


def try_from_scratch(plan, job):
    chosen = Chosen(job["tests"], plan["unloaded"], plan["all"])
    code = pytest.main(plan["args"], plugins=[chosen])
    # Nothing that passed before is there any more, or pytest itself could not go on.
    if not chosen.failed and (chosen.found == 0 or int(code) not in (0, 1, 5)):
        return {"fate": "killed", "by": []}
    return noticed(chosen.failed)


class Chosen:
    """Runs some tests, up to the first that fails or all of them."""

    def __init__(self, tests, unloaded, all_of_them):
        self.tests = tests
        self.unloaded = unloaded
        self.all_of_them = all_of_them
        self.failed = []
        self.found = 0
        self.session = None

    def pytest_sessionstart(self, session):
        self.session = session

    def pytest_collectreport(self, report):
        if report.failed and report.nodeid not in self.unloaded:
            # With the file all of its tests noticed.
            of_file = [name for name in self.tests if name.split("::")[0] == report.nodeid]
            self.fail(of_file or [report.nodeid])

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        by_name = {item.nodeid: item for item in items}
        items[:] = [by_name[name] for name in self.tests if name in by_name]
        self.found = len(items)

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.fail([report.nodeid])

    def fail(self, names):
        for name in names:
            note(self.failed, name)
        if not self.all_of_them:
            self.session.shouldfail = "one is enough"


def note(names, name):
    if name not in names:
        names.append(name)


def noticed(by):
    return {"fate": "killed", "by": by} if by else {"fate": "survived"}


class Changed:
    """The file with the change in it, for as long as it is tried: programs that tests start see it too."""

    def __init__(self, job):
        self.path = job["file"]
        with open(self.path, "rb") as file:
            self.before = file.read()
        self.after = self.before[: job["start"]] + job["text"].encode() + self.before[job["end"] :]

    def __enter__(self):
        with open(self.path, "wb") as file:
            file.write(self.after)
        return self

    def __exit__(self, *_):
        with open(self.path, "wb") as file:
            file.write(self.before)


# ---------------------------------------------------------------- a change in a project that is loaded

IS_FUNCTION = 0x1  # CO_OPTIMIZED: no code of a module or of a class


def replace_functions(change):
    """Gives the functions of the file their changed code. False when that is not all there is to the change."""
    options = {"dont_inherit": True, "optimize": -1}
    before = compile(change.before, change.path, "exec", **options)
    after = compile(change.after, change.path, "exec", **options)
    new = {}
    if not pair(before, after, new):
        return False
    wanted = os.path.realpath(change.path)
    paths = {}
    replaced = 0
    for thing in gc.get_objects():
        if type(thing) is not types.FunctionType:
            continue
        code = thing.__code__
        path = paths.get(code.co_filename)
        if path is None:
            path = paths[code.co_filename] = os.path.realpath(code.co_filename)
        if path != wanted or name_of(code) not in new:
            continue
        try:
            thing.__code__ = new[name_of(code)]
        except (ValueError, TypeError):
            return False
        replaced += 1
    return replaced > 0


def pair(before, after, new):
    """Notes for every function whose code differs what it becomes. False when other code differs as well."""
    if own_part(before) != own_part(after):
        if not before.co_flags & IS_FUNCTION:
            return False
    elif before == after:
        return True
    if before.co_flags & IS_FUNCTION:
        # Two lambdas on one line cannot be told apart.
        if name_of(before) in new:
            return False
        new[name_of(before)] = after
    inner, now = nested(before), nested(after)
    if [code.co_name for code in inner] != [code.co_name for code in now]:
        # The function that holds them has the new ones.
        return bool(before.co_flags & IS_FUNCTION)
    return all([pair(one, other, new) for one, other in zip(inner, now)])


def name_of(code):
    return (code.co_name, code.co_firstlineno)


def nested(code):
    return [const for const in code.co_consts if isinstance(const, types.CodeType)]


def own_part(code):
    # `1 == True == 1.0`, and a change may be just that.
    consts = [repr(const) for const in code.co_consts if not isinstance(const, types.CodeType)]
    return (code.co_code, consts, code.co_names, code.co_varnames, code.co_freevars)


# ---------------------------------------------------------------- processes

SPARE_MEMORY = 2 << 30


def fork():
    with warnings.catch_warnings():
        # Newer interpreters warn of threads; settings may make an error of that.
        warnings.simplefilter("ignore")
        return os.fork()


def attempt(run, limit):
    """What `run` gives in a process of its own, or that it took too long."""
    reader, writer = os.pipe()
    pid = fork()
    if pid == 0:
        try:
            os.setpgid(0, 0)
            os.close(reader)
            silence()
            limit_memory()
            verdict = run()
        except BaseException:
            verdict = {"fate": "killed", "by": []}
        os.write(writer, json.dumps(verdict).encode() + b"\n")
        os._exit(0)
    try:
        os.setpgid(pid, pid)
    except OSError:
        pass  # It was quicker.
    os.close(writer)
    answer = read_line(reader, time.monotonic() + limit)
    os.close(reader)
    try:
        os.killpg(pid, signal.SIGKILL)
    except OSError:
        pass
    os.waitpid(pid, 0)
    if answer is None:
        return {"fate": "timed_out"}
    # A process that ends without a word was brought down by the change.
    return json.loads(answer) if answer else {"fate": "killed", "by": []}


def read_line(reader, deadline):
    """A line, nothing at the end, None when it takes too long."""
    line = b""
    while not line.endswith(b"\n"):
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        if not select.select([reader], [], [], left)[0]:
            return None
        part = os.read(reader, 65536)
        if not part:
            return b""
        line += part
    return line


def silence():
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)


def limit_memory():
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = used + SPARE_MEMORY
    if hard == resource.RLIM_INFINITY or limit < hard:
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main()
