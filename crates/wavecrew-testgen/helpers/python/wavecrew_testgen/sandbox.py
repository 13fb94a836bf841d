"""Limits the code under test: no network, no processes, no writes outside one folder, bounded time and memory.

The limits apply to the whole child. `Guard` adds a time limit per call and remembers what it refused.
"""
import asyncio
import builtins
import os
import signal
import sys
import threading
import time

from .process_state import NoInput

try:
    import resource
except ImportError:  # not on Windows
    resource = None

MAX_MEMORY = 1536 * 1024 * 1024
MAX_FILE_SIZE = 16 * 1024 * 1024
MAX_OPEN_FILES = 128
MAX_RECURSION = 400
MAX_WAIT = 0.02
MAX_CALL = 3.0
OWN_DESCRIPTORS = "/proc/self/fd"
THREAD_LEFT_RUNNING = "leaves a thread running"

# Audit events that are always refused.
FORBIDDEN = (
    "socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostby", "socket.getnameinfo", "socket.send",
    "subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "os.kill",
    "os.killpg", "os.startfile", "pty.spawn", "webbrowser.open", "ftplib.", "smtplib.", "http.client.", "urllib.",
    "imaplib.", "poplib.", "nntplib.", "telnetlib.", "builtins.input", "ctypes.dlopen", "signal.pthread_kill",
)
# Audit events that change the path in their first argument.
WRITES = (
    "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.chmod", "os.chown", "os.link", "os.symlink", "os.truncate",
    "os.utime", "os.setxattr", "os.removexattr", "os.chdir", "os.mkfifo", "shutil.rmtree", "shutil.move",
)


class Forbidden(PermissionError):
    """The sandbox refused something."""


class TimedOut(BaseException):
    """A call exceeded its time limit. Not an `Exception`, so that `except Exception` does not catch it."""


class Guard:
    """Refuses what is forbidden, and remembers the first refusal during a call."""

    def __init__(self, folder):
        self.folder = os.path.realpath(folder) + os.sep
        self.refused = None
        self.written = []  # paths inside the folder, as the code spelled them
        self.expired = False  # also when the code under test caught `TimedOut`
        self.armed = False
        self.owner = os.getpid()
        self.own_descriptors = frozenset(range(10)) if not os.path.isdir(OWN_DESCRIPTORS) else frozenset(map(int, os.listdir(OWN_DESCRIPTORS)))

    def refuse(self, what):
        if self.refused is None:
            self.refused = what
        raise Forbidden("refused by the sandbox: " + what)

    def inside(self, path):
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if not isinstance(path, (str, os.PathLike)):
            return True  # an open descriptor
        full = os.path.realpath(os.fspath(path)) + os.sep
        return full.startswith(self.folder) or full == os.devnull + os.sep

    def audit(self, event, args):
        if not self.armed:
            return
        if event == "open":
            path, mode, flags = (tuple(args) + (None, None, None))[:3]
            if isinstance(path, int) and path in self.own_descriptors:
                self.refuse("opening a descriptor of the process")
            writes = isinstance(mode, str) and any(c in mode for c in "wax+")
            if isinstance(flags, int):
                writes = writes or bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC))
            if writes and not self.inside(path):
                self.refuse("writing " + str(path))
            self._wrote(path, writes)
        elif event == "ctypes.dlopen" and args[0] is None:
            pass  # the process itself, which every import of ctypes opens
        elif event.startswith(FORBIDDEN):
            self.refuse(event)
        elif event.startswith(WRITES) and args:
            if not self.inside(args[0]):
                self.refuse("%s %s" % (event, args[0]))
            self._wrote(args[0], True)

    def _wrote(self, path, writes):
        if writes and isinstance(path, (str, os.PathLike)) and os.fspath(path) != os.devnull:
            self.written.append(os.fspath(path))

    def call(self, function, seconds):
        """Runs `function` with a limit on its processor time, and a much larger one on wall time."""
        threads = threading.active_count()
        self.arm(seconds)
        try:
            return function()
        finally:
            self.disarm()
            if threading.active_count() > threads and self.refused is None:
                self.refused = THREAD_LEFT_RUNNING

    def arm(self, seconds):
        """Refuses what is forbidden and limits time from now on."""
        self.refused = None
        self.written = []
        self.expired = False
        self.armed = True
        signal.setitimer(signal.ITIMER_PROF, seconds, 0.1)
        signal.setitimer(signal.ITIMER_REAL, seconds * 8 + MAX_CALL, 1.0)

    def disarm(self):
        """Stops refusing and limiting time."""
        self.armed = False
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)

    def timed_out(self, _signal, _frame):
        # A late signal must not interrupt whatever runs by then.
        if self.armed:
            self.expired = True
            raise TimedOut()


def _limit(what, amount):
    try:
        _, hard = resource.getrlimit(what)
        if hard != resource.RLIM_INFINITY:
            amount = min(amount, hard)
        resource.setrlimit(what, (amount, hard))
    except (ValueError, OSError):
        pass  # a stricter limit applies already


def enter(folder, cpu_seconds):
    """Puts this process into the sandbox permanently. Returns its guard."""
    if resource is not None:
        _limit(resource.RLIMIT_AS, MAX_MEMORY)
        _limit(resource.RLIMIT_FSIZE, MAX_FILE_SIZE)
        _limit(resource.RLIMIT_NOFILE, MAX_OPEN_FILES)
        _limit(resource.RLIMIT_CPU, int(cpu_seconds) + 2)
        _limit(resource.RLIMIT_CORE, 0)
    os.chdir(folder)
    os.environ["HOME"] = os.environ["TMPDIR"] = folder
    sys.dont_write_bytecode = True
    guard = Guard(folder)
    for name in ("SIGALRM", "SIGPROF"):
        signal.signal(getattr(signal, name), guard.timed_out)
    sys.addaudithook(guard.audit)
    _block_sleep(guard)
    _block_stdin(guard)
    return guard


def _block_sleep(guard):
    real = time.sleep

    def sleep(seconds):
        if guard.armed and seconds > MAX_WAIT:
            guard.refuse("waiting for %s seconds" % seconds)
        real(seconds)

    time.sleep = sleep
    real_async = asyncio.sleep

    async def async_sleep(delay, *args, **kwargs):
        if guard.armed and delay > MAX_WAIT:
            guard.refuse("waiting for %s seconds" % delay)
        return await real_async(delay, *args, **kwargs)

    asyncio.sleep = asyncio.tasks.sleep = async_sleep


def _block_stdin(guard):
    sys.stdin = NoInput(guard)
    real = builtins.input

    def blocked_input(prompt=""):
        if guard.armed:
            guard.refuse("reading standard input")
        return real(prompt)

    builtins.input = blocked_input
