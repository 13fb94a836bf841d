"""The sandboxed child: loads the module under test and runs a session.

It writes JSON lines to its own descriptor; output of the code under test is discarded. Before each call it writes the case
to a shared file, so that the driver knows what crashed a child.
"""
import builtins
import importlib
import json
import mmap
import os
import signal
import sys
import time
import types
import warnings

from . import child_process, clock, process_state, sandbox, tracing

IMPORT_SECONDS = 8


class Reporter:
    """Sends events to the driver, and tracks the time limits."""

    def __init__(self, descriptor, beat_path, seconds, wall_seconds):
        self.descriptor = descriptor
        self.seconds, self.wall_seconds = seconds, wall_seconds
        self.created = time.monotonic()
        self.restart()
        self.count = 0
        file = os.open(beat_path, os.O_RDWR)
        self.shared = mmap.mmap(file, 8192)
        os.close(file)
        self.stopped = False

    def send(self, event, **data):
        data["event"] = event
        line = json.dumps(data).encode() + b"\n"
        while line:
            line = line[os.write(self.descriptor, line):]

    def restart(self, wall_seconds=None):
        """Starts the time limits from now."""
        self.wall_seconds = wall_seconds or self.wall_seconds
        # Processor time, so that a busy machine runs the same search; wall time is a last resort.
        self.started = time.process_time(), time.monotonic()
        self.set_limit(1.0)

    def is_late(self):
        return self.stopped or time.process_time() > self.deadline or time.monotonic() > self.wall_deadline

    def stop(self, *_):
        """From now on `is_late` is true."""
        self.stopped = True

    def set_limit(self, share):
        """`is_late` is true when this share of the time is used."""
        self.share = share
        self.deadline = self.started[0] + self.seconds * share
        self.wall_deadline = self.started[1] + self.wall_seconds * share

    def used_share(self):
        """The share of the time that is used."""
        return max(
            (time.process_time() - self.started[0]) / self.seconds, (time.monotonic() - self.started[1]) / self.wall_seconds)

    def remaining_seconds(self):
        """Seconds until `is_late`."""
        return max(0.0, min(self.deadline - time.process_time(), self.wall_deadline - time.monotonic()))

    def record_call(self, case):
        self.count += 1
        text = repr((case.target, case.args, case.receiver, case.steps)).encode("utf-8", "replace")[:8000]
        self.shared[:16] = b"%08d%08d" % (self.count % 100000000, len(text))
        self.shared[16:16 + len(text)] = text

    def found(self, case):
        self.send("found", case=case.data())

    def hang(self, case, outcome):
        self.send("hang", case=case.data(), why=outcome.why)


def load(request, guard, tracer, fixture_values, report):
    """Imports the conftest files and the module under test, and restores builtins.

    Returns the module, the fixtures, and what the import reaches.
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
    changed = process_state.restore_builtins(known)
    if changed:
        report.send("note", why="the import replaces builtins: %s" % ", ".join(sorted(changed)))
    if guard.written:
        shown = ", ".join(sorted({os.path.basename(path) for path in guard.written})[:3])
        report.send("note", why="the import writes files: %s" % shown)
    report.send("loaded")
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
    report = Reporter(descriptor, request["heartbeat"], request["seconds"], request["wall_seconds"])
    signal.signal(child_process.STOP, report.stop)
    if request.get("shift_clock"):
        clock.shift()
    warnings.simplefilter("ignore", SyntaxWarning)  # mutants make odd code
    # After the clock is shifted, and before the project is in `sys.path`, where its files could shadow the library.
    from . import diff_session, fixture_values, session

    guard = sandbox.enter(request["folder"], request["seconds"] * 2 + 20)
    why = None
    try:
        traced = [request["path"]] + request.get("trace", [])
        tracer = tracing.tracer(traced + [os.path.realpath(path) for path in traced])
        module, fixtures, features = load(request, guard, tracer, fixture_values, report)
        if not isinstance(module, types.ModuleType):
            why = "is not a module after import"
        elif os.path.realpath(getattr(module, "__file__", None) or "") != os.path.realpath(request["path"]):
            why = "imports as another file: %s" % getattr(module, "__file__", None)
    except sandbox.TimedOut:
        why = "the import takes longer than %d s" % IMPORT_SECONDS
    except BaseException as error:
        why = "the import fails: %s: %s" % (type(error).__name__, str(error)[:200])
        if guard.refused is not None:
            why = "the sandbox refuses what the import does: %s" % guard.refused
    if why is not None and "diff" in request:
        why = why.replace(request["root"], "<project>")
    if why is not None:
        report.send("dropped", why=why)
        os._exit(0)
    try:
        kind = diff_session.DiffSession if "diff" in request else session.Session
        kind(request, module, guard, report, tracer, features, fixtures).run()
    except sandbox.TimedOut:
        session.report_failure(report, "ran out of time at an unexpected place")
    except MemoryError:
        session.report_failure(report, "ran out of memory")
    except BaseException as error:
        import traceback

        session.report_failure(report, "%s: %s" % (type(error).__name__, traceback.format_exc()[-1500:]))
    # Skip threads and exit handlers of the code under test.
    os._exit(0)
