"""Global state of the process: detects changes by a call, and restores it.

A test that changes it would affect others. Changes of the environment are restored silently: they are common, and rarely
affect other code.
"""
import builtins
import os
import sys
import time


class ProcessState:
    """The state before a call. Saved for every call, so this must be fast."""

    def __init__(self):
        self.builtins = dict(vars(builtins))
        self.modules = {}

    def save(self):
        if len(self.modules) != len(sys.modules):
            self.modules = dict(sys.modules)
        self.path = list(sys.path)
        self.environ = _environment().copy()
        self.folder = os.getcwd()
        self.zone = time.tzname
        self.streams = sys.stdout, sys.stderr, sys.stdin

    def restore(self):
        """Restores everything. Returns what a test must not change, or None."""
        what = None
        if vars(builtins) != self.builtins:
            what = "builtins" if restore_builtins(self.builtins) else None
            self.builtins = dict(vars(builtins))  # including new names
        if (sys.stdout, sys.stderr, sys.stdin) != self.streams:
            what = "the standard streams"
            sys.stdout, sys.stderr, sys.stdin = self.streams
        if len(sys.modules) < len(self.modules):
            what = "sys.modules"
            sys.modules.update(self.modules)
        if sys.path != self.path:
            what = "sys.path"
            sys.path[:] = self.path
        if _environment() != self.environ:
            os.environ.clear()
            os.environ.update({os.fsdecode(name): os.fsdecode(value) for name, value in self.environ.items()})
        if time.tzname != self.zone:
            what = "the time zone"
            time.tzset()
        if _folder() != self.folder:
            what = "the current folder"
            os.chdir(self.folder)
        return what and "changes %s of the process" % what


def _environment():
    """The underlying variables, without a copy."""
    return getattr(os.environ, "_data", os.environ)


def _folder():
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return None


def restore_builtins(known):
    """Restores builtins. Returns the names of those that were changed."""
    there = vars(builtins)
    changed = [name for name, value in known.items() if there.get(name) is not value and name != "_"]
    for name in changed:
        setattr(builtins, name, known[name])
    return changed


class NoInput:
    """Replaces standard input, which tests do not have."""

    encoding = "utf-8"
    errors = "strict"
    name = "<stdin>"
    closed = False

    def __init__(self, guard):
        self.guard = guard

    def _refuse(self, *_args, **_kwargs):
        self.guard.refuse("reading standard input")

    read = readline = readlines = __iter__ = __next__ = fileno = _refuse

    @property
    def buffer(self):
        return self

    def isatty(self):
        return False

    def readable(self):
        return True

    def close(self):
        pass
