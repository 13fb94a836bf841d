"""Runs tests of a project with pytest in this process, in the sandbox. Reports the outcome of each test, and the changed lines
that it reached, as JSON lines.
"""
import json
import os
import sys
import time
import warnings

from . import sandbox, tracing

TEST_SECONDS = 1.0  # of processor time
MAX_MESSAGE = 400
SETTINGS = ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")


def main(request_path):
    with open(request_path, encoding="utf-8") as file:
        request = json.load(file)
    descriptor = os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for each in (0, 1, 2):
        os.dup2(nowhere, each)
    warnings.simplefilter("ignore", SyntaxWarning)
    sys.path[:0] = request["sys_path"]

    def send(**event):
        line = json.dumps(event).encode() + b"\n"
        while line:
            line = line[os.write(descriptor, line):]

    try:
        import pytest
    except ImportError:
        send(event="missing")
        os._exit(0)
    folder = request["folder"]
    guard = sandbox.enter(folder, request["seconds"] + 20)
    os.chdir(request["root"])
    ranges = {one["path"]: {line for first, last in one["lines"] for line in range(first, last + 1)} for one in request["changed"]}
    tracer = tracing.tracer(list(ranges))
    plugin = _plugin(pytest, request, guard, tracer, ranges, send)
    options = ["-q", "-p", "no:cacheprovider", "-o", "addopts=", "--rootdir", request["root"], "--basetemp", os.path.join(folder, "t")]
    for name in SETTINGS:
        path = os.path.join(request["root"], name)
        if os.path.exists(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                if "pytest" in file.read():
                    options += ["-c", path]
                    break
    pytest.main(options + request["tests"], plugins=[plugin])
    send(event="done")
    os._exit(0)


def _plugin(pytest, request, guard, tracer, ranges, send):
    deadline = time.monotonic() + request["seconds"]

    class Watch:
        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_runtest_call(self, item):
            tracer.start()
            guard.arm(TEST_SECONDS)
            yield
            guard.disarm()
            item.wavecrew_reached = tracer.stop()

        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_makereport(self, item, call):
            made = yield
            report = made.get_result()
            item.wavecrew_phases = getattr(item, "wavecrew_phases", {})
            item.wavecrew_phases[call.when] = report.outcome
            if call.excinfo is not None and report.outcome == "failed":
                item.wavecrew_error = _error(call.excinfo, item)

        def pytest_runtest_logfinish(self, nodeid):
            if time.monotonic() > deadline:
                send(event="late")
                self.session.shouldstop = "late"

        def pytest_sessionstart(self, session):
            self.session = session

        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_protocol(self, item):
            yield
            phases = getattr(item, "wavecrew_phases", {})
            if not isinstance(item, pytest.Function) or not phases:
                return
            outcome = phases.get("call", "error")
            if guard.refused is not None or guard.expired:
                outcome = "refused"
            elif outcome == "passed" and "failed" in phases.values():
                outcome = "error"
            lines = {}
            for feature in getattr(item, "wavecrew_reached", ()):
                for line in (feature[2], feature[3]):
                    if line in ranges.get(feature[0], ()):
                        lines.setdefault(os.path.relpath(feature[0], request["root"]), set()).add(line)
            path, _, _ = item.location
            send(event="test", id=item.nodeid, file=path, function=getattr(item, "originalname", None) or item.name,
                 owner=item.cls.__name__ if item.cls is not None else None, indices=_indices(item),
                 outcome=outcome, error=getattr(item, "wavecrew_error", None),
                 lines={file: sorted(found) for file, found in lines.items()})

    return Watch()


def _indices(item):
    """The row of each parameter of a test in its table."""
    call = getattr(item, "callspec", None)
    found = {}
    for mark in item.iter_markers("parametrize") if call is not None else ():
        names, rows = mark.args[:2] if len(mark.args) > 1 else ((), ())
        names = [name.strip() for name in names.split(",") if name.strip()] if isinstance(names, str) else list(names)
        for number, row in enumerate(rows if isinstance(rows, (list, tuple)) else ()):
            values = getattr(row, "values", None)
            if not isinstance(values, tuple):
                values = (row,) if len(names) == 1 else row
            if len(values) == len(names) and all(call.params.get(name) is value for name, value in zip(names, values)):
                found.update(dict.fromkeys(names, number))
                break
    return found


def _error(info, item):
    """What a failed test raised, and the line of the test itself."""
    name = getattr(item, "originalname", None) or item.name
    lines = [entry.lineno + 1 for entry in info.traceback if str(entry.path) == str(item.path) and entry.name == name]
    try:
        message = str(info.value)
    except Exception:  # a __str__ of the project
        message = ""
    return [info.typename, message[:MAX_MESSAGE], lines[-1] if lines else 0]
