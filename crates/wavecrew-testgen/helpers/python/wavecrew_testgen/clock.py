"""Shifts the date, to find out whether results depend on it."""
import datetime
import time

# The original classes, which C code still creates.
ORIGINALS = {datetime.date: "datetime.date", datetime.datetime: "datetime.datetime"}
SHIFT = datetime.timedelta(days=403, hours=7, minutes=11)


def shift():
    """Sets the clock of this process forward by more than a year. Call this before the module under test is loaded."""
    seconds = SHIFT.total_seconds()
    real = {name: getattr(time, name) for name in ("time", "time_ns", "localtime", "gmtime", "strftime")}
    time.time = lambda: real["time"]() + seconds
    time.time_ns = lambda: real["time_ns"]() + int(seconds * 1e9)
    time.localtime = lambda moment=None: real["localtime"](time.time() if moment is None else moment)
    time.gmtime = lambda moment=None: real["gmtime"](time.time() if moment is None else moment)

    class Kind(type(datetime.date)):
        """Original dates are instances too: arithmetic in C returns them."""

        def __instancecheck__(cls, value):
            return isinstance(value, cls.__mro__[1])

    real_date, real_datetime = datetime.date, datetime.datetime

    class date(real_date, metaclass=Kind):
        @classmethod
        def today(cls):
            return real_date.today() + SHIFT

        def __repr__(self):
            return "datetime." + real_date.__repr__(self)

    class moment(real_datetime, metaclass=Kind):
        def __repr__(self):
            return "datetime." + real_datetime.__repr__(self)

        @classmethod
        def now(cls, tz=None):
            return real_datetime.now(tz) + SHIFT

        @classmethod
        def utcnow(cls):
            return real_datetime.now(datetime.timezone.utc).replace(tzinfo=None) + SHIFT

        @classmethod
        def today(cls):
            return real_datetime.now() + SHIFT

    for kind, name in ((date, "date"), (moment, "datetime")):
        kind.__name__ = kind.__qualname__ = name
        kind.__module__ = "datetime"
        setattr(datetime, name, kind)


def reads_clock(source):
    """Whether source text reads the clock."""
    return any(word in source for word in (
        ".now(", ".today(", "utcnow(", "time.time", "localtime(", "gmtime(", "time_ns", "monotonic", "perf_counter",
    ))
