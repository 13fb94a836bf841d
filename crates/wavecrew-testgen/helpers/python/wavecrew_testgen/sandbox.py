"""What the code under test may do: no network, no processes, no writes outside one folder, bounded time and memory.

The limits hold for the whole child; `Guard` adds a time limit per call and remembers what was tried.
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

MEMORY = 1536 * 1024 * 1024
FILE_SIZE = 16 * 1024 * 1024
OPEN_FILES = 128
RECURSION = 400
LONGEST_WAIT = 0.02
LONGEST_CALL = 3.0
OWN_FILES = "/proc/self/fd"
THREAD_GOES_ON = "a thread that goes on after the call"

# Audit events that are refused whatever their arguments are.
FORBIDDEN = (
    "socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostby", "socket.getnameinfo", "socket.send",
    "subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "os.kill",
    "os.killpg", "os.startfile", "pty.spawn", "webbrowser.open", "ftplib.", "smtplib.", "http.client.", "urllib.",
    "imaplib.", "poplib.", "nntplib.", "telnetlib.", "builtins.input", "ctypes.dlopen", "signal.pthread_kill",
)
# Audit events whose first argument is a path that is changed.
WRITES = (
    "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.chmod", "os.chown", "os.link", "os.symlink", "os.truncate",
    "os.utime", "os.setxattr", "os.removexattr", "os.chdir", "os.mkfifo", "shutil.rmtree", "shutil.move",
)


class Forbidden(PermissionError):
    """The code under test tried something that the sandbox refuses."""


class TimeUp(BaseException):
    """A call took longer than it may. Not an `Exception`, so that `except Exception` does not swallow it."""


class Guard:
    """Refuses what is forbidden and remembers the first thing that was tried during a call."""

    def __init__(self, folder):
        self.folder = os.path.realpath(folder) + os.sep
        self.tried = None
        self.written = []  # paths inside of the folder, as they were given
        self.expired = False  # also when the code under test swallowed `TimeUp`
        self.armed = False
        self.owner = os.getpid()
        self.known = frozenset(range(10)) if not os.path.isdir(OWN_FILES) else frozenset(map(int, os.listdir(OWN_FILES)))

    def refuse(self, what):
        if self.tried is None:
            self.tried = what
        raise Forbidden("refused by the sandbox: " + what)

    def inside(self, path):
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if not isinstance(path, (str, os.PathLike)):
            return True  # a descriptor that is open already
        full = os.path.realpath(os.fspath(path)) + os.sep
        return full.startswith(self.folder) or full == os.devnull + os.sep

    def hook(self, event, args):
        if not self.armed:
            return
        if event == "open":
            path, mode, flags = (tuple(args) + (None, None, None))[:3]
            if isinstance(path, int) and path in self.known:
                self.refuse("a file of the process by its number")
            writes = isinstance(mode, str) and any(c in mode for c in "wax+")
            if isinstance(flags, int):
                writes = writes or bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC))
            if writes and not self.inside(path):
                self.refuse("writing " + str(path))
            self._wrote(path, writes)
        elif event.startswith(FORBIDDEN):
            self.refuse(event)
        elif event.startswith(WRITES) and args:
            if not self.inside(args[0]):
                self.refuse("%s %s" % (event, args[0]))
            self._wrote(args[0], True)

    def _wrote(self, path, writes):
        if writes and isinstance(path, (str, os.PathLike)):
            self.written.append(os.fspath(path))

    def call(self, function, seconds):
        """Runs `function` with a limit on its processor time, and a much larger one on the clock."""
        self.tried = None
        self.written = []
        self.expired = False
        threads = threading.active_count()
        self.armed = True
        signal.setitimer(signal.ITIMER_PROF, seconds, 0.1)
        signal.setitimer(signal.ITIMER_REAL, seconds * 8 + LONGEST_CALL, 1.0)
        try:
            return function()
        finally:
            self.disarm()
            if threading.active_count() > threads and self.tried is None:
                self.tried = THREAD_GOES_ON

    def disarm(self):
        """From here on nothing is refused and time is not limited."""
        self.armed = False
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)

    def time_up(self, _signal, _frame):
        # A signal that comes late finds the guard disarmed and must not hit whatever runs then.
        if self.armed:
            self.expired = True
            raise TimeUp()


def _limit(what, amount):
    try:
        _, hard = resource.getrlimit(what)
        if hard != resource.RLIM_INFINITY:
            amount = min(amount, hard)
        resource.setrlimit(what, (amount, hard))
    except (ValueError, OSError):
        pass  # a stricter limit is in force already


def enter(folder, cpu_seconds):
    """Puts this process into the sandbox for good and returns its guard."""
    if resource is not None:
        _limit(resource.RLIMIT_AS, MEMORY)
        _limit(resource.RLIMIT_FSIZE, FILE_SIZE)
        _limit(resource.RLIMIT_NOFILE, OPEN_FILES)
        _limit(resource.RLIMIT_CPU, int(cpu_seconds) + 2)
        _limit(resource.RLIMIT_CORE, 0)
    os.chdir(folder)
    os.environ["HOME"] = os.environ["TMPDIR"] = folder
    sys.dont_write_bytecode = True
    guard = Guard(folder)
    for name in ("SIGALRM", "SIGPROF"):
        signal.signal(getattr(signal, name), guard.time_up)
    sys.addaudithook(guard.hook)
    _no_waiting(guard)
    _no_stdin(guard)
    return guard


def _no_waiting(guard):
    real = time.sleep

    def sleep(seconds):
        if guard.armed and seconds > LONGEST_WAIT:
            guard.refuse("waiting for %s seconds" % seconds)
        real(seconds)

    time.sleep = sleep
    real_async = asyncio.sleep

    async def async_sleep(delay, *args, **kwargs):
        if guard.armed and delay > LONGEST_WAIT:
            guard.refuse("waiting for %s seconds" % delay)
        return await real_async(delay, *args, **kwargs)

    asyncio.sleep = asyncio.tasks.sleep = async_sleep


def _no_stdin(guard):
    sys.stdin = NoInput(guard)
    real = builtins.input

    def asked(prompt=""):
        if guard.armed:
            guard.refuse("reading standard input")
        return real(prompt)

    builtins.input = asked
