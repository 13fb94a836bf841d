"""The sandboxed child: loads the module under test and searches, or runs given cases once more.

It speaks JSON lines on a descriptor of its own; what the code under test prints goes nowhere. Before each call the case is
written into a shared file, so that the driver knows what a child died of.
"""
import builtins
import importlib
import json
import mmap
import os
import sys
import time
import types
import warnings

from . import clock, process_state, sandbox, tracing

IMPORT_SECONDS = 8


class Report:
    """The way to the driver."""

    def __init__(self, descriptor, beat_path, seconds, wall_seconds):
        self.descriptor = descriptor
        self.seconds, self.wall_seconds = seconds, wall_seconds
        self.begin()
        self.count = 0
        file = os.open(beat_path, os.O_RDWR)
        self.shared = mmap.mmap(file, 8192)
        os.close(file)

    def send(self, event, **data):
        data["event"] = event
        line = json.dumps(data).encode() + b"\n"
        while line:
            line = line[os.write(self.descriptor, line):]

    def begin(self):
        """All of the time is left, from here on."""
        # Processor time, so that the same search is done on a busy machine; the clock has the last word.
        self.began = time.process_time(), time.monotonic()
        self.until(1.0)

    def late(self):
        return time.process_time() > self.deadline or time.monotonic() > self.wall_deadline

    def until(self, share):
        """It is late when this share of the whole time is used."""
        self.share = share
        self.deadline = self.began[0] + self.seconds * share
        self.wall_deadline = self.began[1] + self.wall_seconds * share

    def used(self):
        """The share of the whole time that is used."""
        return max(
            (time.process_time() - self.began[0]) / self.seconds, (time.monotonic() - self.began[1]) / self.wall_seconds)

    def left(self):
        """Seconds until it is late."""
        return max(0.0, min(self.deadline - time.process_time(), self.wall_deadline - time.monotonic()))

    def beat(self, case):
        self.count += 1
        text = repr((case.target, case.args, case.receiver, case.steps)).encode("utf-8", "replace")[:8000]
        self.shared[:16] = b"%08d%08d" % (self.count % 100000000, len(text))
        self.shared[16:16 + len(text)] = text

    def found(self, case):
        self.send("found", case=case.data())

    def hang(self, case, outcome):
        self.send("hang", case=case.data(), why=outcome.why)


def load(request, guard, tracer, fixture_values, report):
    """Imports the module under test, after the files with fixtures, and undoes what they did to builtins.

    Answers the module, the fixtures, and what the import reaches.
    """
    sys.path[:0] = request["sys_path"]
    known = dict(vars(builtins))
    sys.argv = [request["module"]]
    limit = sys.getrecursionlimit()
    tracer.start()
    fixtures = fixture_values.Fixtures(request["conftests"], guard)
    try:
        module = guard.call(lambda: importlib.import_module(request["module"]), IMPORT_SECONDS)
    finally:
        features = tracer.stop()
    module = sys.modules.get(request["module"], module)
    sys.setrecursionlimit(limit)
    changed = process_state.put_back(known)
    if changed:
        report.send("note", why="the import replaces builtins: %s" % ", ".join(sorted(changed)))
    if guard.written:
        shown = ", ".join(sorted({os.path.basename(path) for path in guard.written})[:3])
        report.send("note", why="the import writes files, also when tests do it: %s" % shown)
    return module, fixtures, features


def main(request_path):
    with open(request_path, encoding="utf-8") as file:
        request = json.load(file)
    descriptor = os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for each in (0, 1, 2):
        os.dup2(nowhere, each)
    sys.stdout = open(os.devnull, "w")
    sys.stderr = open(os.devnull, "w")
    report = Report(descriptor, request["beat"], request["seconds"], request["wall_seconds"])
    if request.get("shift_clock"):
        clock.shift()
    warnings.simplefilter("ignore", SyntaxWarning)  # faults make odd code
    # After the date is set, and before the project stands in the path with files that may be called like the library's.
    from . import fixture_values, session

    guard = sandbox.enter(request["folder"], request["seconds"] * 2 + 20)
    why = None
    try:
        tracer = tracing.tracer([request["path"], os.path.realpath(request["path"])])
        module, fixtures, features = load(request, guard, tracer, fixture_values, report)
        if not isinstance(module, types.ModuleType):
            why = "is no module after import"
        elif os.path.realpath(getattr(module, "__file__", None) or "") != os.path.realpath(request["path"]):
            why = "imports as another file: %s" % getattr(module, "__file__", None)
    except sandbox.TimeUp:
        why = "import takes longer than %d s" % IMPORT_SECONDS
    except BaseException as error:
        why = "import fails: %s: %s" % (type(error).__name__, str(error)[:200])
        if guard.tried is not None:
            why = "import tries what the sandbox refuses: %s" % guard.tried
    if why is not None:
        report.send("left_out", why=why)
        os._exit(0)
    try:
        session.Session(request, module, guard, report, tracer, features, fixtures).run()
    except sandbox.TimeUp:
        session.failed(report, "time was up at an unexpected place")
    except MemoryError:
        session.failed(report, "memory")
    except BaseException as error:
        import traceback

        session.failed(report, "%s: %s" % (type(error).__name__, traceback.format_exc()[-1500:]))
    # Threads and exit handlers of the code under test have no say in how this ends.
    os._exit(0)
