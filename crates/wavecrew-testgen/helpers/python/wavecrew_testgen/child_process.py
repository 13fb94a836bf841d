"""Starts the sandboxed child, listens to it, and ends it when it hangs."""
import ast
import json
import mmap
import os
import select
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = os.path.dirname(os.path.abspath(__file__))
SILENCE = 4.0  # seconds of processor time without a new call after which a child counts as hanging
BLOCKED = 25.0  # the same by the clock, for a child that waits for something
IMPORTING = 8.0  # more of both before the first call
GRACE = 10.0


class Ended:
    """How a child ended: its events, and the case it died or hung at, if it did not end by itself."""

    def __init__(self):
        self.events = []
        self.victim = None
        self.why = None

    def all(self, name):
        return [event for event in self.events if event["event"] == name]

    def last(self, name):
        found = self.all(name)
        return found[-1] if found else None


def environment(hash_seed, zone):
    """A fixed environment: nothing of the caller's reaches the code under test but where programs are."""
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT") if name in os.environ}
    kept.update(PYTHONHASHSEED=str(hash_seed), TZ=zone, LANG="C.UTF-8", LC_ALL="C.UTF-8", PYTHONDONTWRITEBYTECODE="1")
    return kept


def run(request, on_event, hash_seed=0, zone="UTC"):
    """Runs one child to its end, which comes after `request["wall_seconds"]` and a little more at the latest."""
    with tempfile.TemporaryDirectory(prefix="wavecrew-testgen-") as folder:
        beat = os.path.join(folder, "beat")
        with open(beat, "wb") as file:
            file.write(b"\0" * 8192)
        scratch = os.path.join(folder, "scratch")
        os.mkdir(scratch)
        request = dict(request, beat=beat, folder=scratch)
        path = os.path.join(folder, "request.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(request, file)
        with open(beat, "rb") as file:
            shared = mmap.mmap(file.fileno(), 8192, prot=mmap.PROT_READ)
        child = subprocess.Popen(
            [sys.executable, "-s", PROGRAM, "--worker", path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, cwd=scratch, env=environment(hash_seed, zone), start_new_session=True,
        )
        try:
            return _listen(child, shared, request["wall_seconds"], on_event)
        finally:
            _end(child)
            shared.close()


def _listen(child, shared, seconds, on_event):
    ended = Ended()
    started = changed = waiting = time.monotonic()
    count, pending, used = b"", b"", 0.0
    descriptor = child.stdout.fileno()
    while True:
        ready, _, _ = select.select([descriptor], [], [], 0.25)
        now = time.monotonic()
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
        more = IMPORTING if not count.strip(b"\0") else 0.0
        if _runnable(child.pid):
            waiting = now
        busy = now - changed > SILENCE and _processor_time(child.pid) - used > SILENCE + more
        if busy or now - max(changed, waiting) > BLOCKED + more:
            ended.why = "hangs"
            break
        if now - started > seconds + GRACE + BLOCKED:
            ended.why = "takes too long"
            break
    if ended.why is None and not (ended.last("done") or ended.last("result") or ended.last("left_out")):
        ended.why = "dies"
    if ended.why is not None:
        ended.victim = _victim(shared)
    return ended


def _processor_time(process):
    """Seconds that a process used; where the system does not tell, the clock stands in."""
    try:
        with open("/proc/%d/stat" % process) as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return time.monotonic()


def _runnable(process):
    """Whether a process would go on if it got the processor: others have it, then."""
    try:
        with open("/proc/%d/stat" % process) as file:
            return file.read().rpartition(")")[2].split()[0] == "R"
    except (OSError, IndexError):
        return False


def _victim(shared):
    """The case that ran last, as data."""
    try:
        length = int(shared[8:16])
        target, args, receiver, steps = ast.literal_eval(shared[16:16 + length].decode("utf-8", "replace"))
        return [target, [list(a) for a in args], receiver, [[name, [list(a) for a in s]] for name, s in steps]]
    except (ValueError, SyntaxError, TypeError):
        return None


def _end(child):
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except OSError:
        pass
    child.stdout.close()
    child.wait()
