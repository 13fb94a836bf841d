"""Starts the sandboxed child, reads its events, and kills it when it hangs."""
import ast
import json
import mmap
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time

PROGRAM = os.path.dirname(os.path.abspath(__file__))
MAX_SILENT_CPU_SECONDS = 4.0  # processor time without a new call
MAX_BLOCKED_SECONDS = 25.0  # wall time without a new call, for a child that waits for something
EXTRA_IMPORT_SECONDS = 8.0  # added to both before the first call
GRACE_SECONDS = 10.0
STOP = signal.SIGUSR1  # asks a child that searches to send what it has
stopping = threading.Event()  # set when this process is asked to end early


class ChildResult:
    """The events of a child, and the case it crashed or hung on."""

    def __init__(self):
        self.events = []
        self.last_case = None
        self.why = None

    def events_named(self, name):
        return [event for event in self.events if event["event"] == name]

    def last_event(self, name):
        found = self.events_named(name)
        return found[-1] if found else None


def environment(hash_seed, zone):
    """A fixed environment. Of the caller's, the code under test sees only the search paths for programs."""
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT") if name in os.environ}
    kept.update(PYTHONHASHSEED=str(hash_seed), TZ=zone, LANG="C.UTF-8", LC_ALL="C.UTF-8", PYTHONDONTWRITEBYTECODE="1")
    return kept


def run(request, on_event, hash_seed=0, zone="UTC", descriptors=()):
    """Runs one child to its end, at most slightly longer than `request["wall_seconds"]`. It inherits the descriptors."""
    with tempfile.TemporaryDirectory(prefix="wavecrew-testgen-") as folder:
        heartbeat = os.path.join(folder, "heartbeat")
        with open(heartbeat, "wb") as file:
            file.write(b"\0" * 8192)
        scratch = os.path.join(folder, "scratch")
        os.mkdir(scratch)
        request = dict(request, heartbeat=heartbeat, folder=scratch)
        path = os.path.join(folder, "request.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(request, file)
        with open(heartbeat, "rb") as file:
            shared = mmap.mmap(file.fileno(), 8192, prot=mmap.PROT_READ)
        child = subprocess.Popen(
            [sys.executable, "-s", PROGRAM, "--worker", path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, cwd=scratch, env=environment(hash_seed, zone), start_new_session=True,
            pass_fds=descriptors,
        )
        try:
            longest = request["wall_seconds"] + GRACE_SECONDS + MAX_BLOCKED_SECONDS
            stoppable = request["mode"] == "search" and "diff" in request
            return _read_events(child, shared, min(longest, request.get("longest", longest)), on_event, stoppable)
        finally:
            _kill(child)
            shared.close()


def _read_events(child, shared, seconds, on_event, stoppable):
    """Reads until the child ends, hangs, or has run for this long."""
    ended = ChildResult()
    told = not stoppable
    started = changed = waiting = time.monotonic()
    count, pending, used = b"", b"", 0.0
    descriptor = child.stdout.fileno()
    while True:
        ready, _, _ = select.select([descriptor], [], [], 0.25)
        now = time.monotonic()
        if stopping.is_set() and not told and ended.last_event("loaded"):
            told = True
            child.send_signal(STOP)
        if ready:
            data = os.read(descriptor, 1 << 16)
            if not data:
                break
            changed, used = now, _processor_time(child.pid)
            lines = (pending + data).split(b"\n")
            pending = lines.pop()
            for line in lines:
                try:
                    event = json.loads(line.decode("utf-8"))
                except ValueError:
                    continue
                ended.events.append(event)
                on_event(event)
            continue
        if shared[:8] != count:
            count, changed, used = shared[:8], now, _processor_time(child.pid)
        more = EXTRA_IMPORT_SECONDS if not count.strip(b"\0") else 0.0
        if _runnable(child.pid):
            waiting = now
        busy = now - changed > MAX_SILENT_CPU_SECONDS and _processor_time(child.pid) - used > MAX_SILENT_CPU_SECONDS + more
        if busy or now - max(changed, waiting) > MAX_BLOCKED_SECONDS + more:
            ended.why = "hangs"
            break
        if now - started > seconds:
            ended.why = "takes too long"
            break
    if ended.why is None and not (ended.last_event("done") or ended.last_event("result") or ended.last_event("dropped")):
        ended.why = "dies"
    if ended.why is not None:
        ended.last_case = _last_case(shared)
    return ended


def _processor_time(process):
    """Processor time of a process in seconds, or wall time where the system does not report it."""
    try:
        with open("/proc/%d/stat" % process) as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return time.monotonic()


def _runnable(process):
    """Whether a process is waiting for the processor."""
    try:
        with open("/proc/%d/stat" % process) as file:
            return file.read().rpartition(")")[2].split()[0] == "R"
    except (OSError, IndexError):
        return False


def _last_case(shared):
    """The case that ran last, as data."""
    try:
        length = int(shared[8:16])
        target, args, receiver, steps = ast.literal_eval(shared[16:16 + length].decode("utf-8", "replace"))
        return [target, [list(a) for a in args], receiver, [[name, [list(a) for a in s]] for name, s in steps]]
    except (ValueError, SyntaxError, TypeError):
        return None


def _kill(child):
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except OSError:
        pass
    child.stdout.close()
    child.wait()
