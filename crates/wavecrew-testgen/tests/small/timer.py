from contextlib import contextmanager


@contextmanager
def collecting(target, label="item"):
    """Collects what is added inside and announces how much it was."""
    if target is None:
        raise TypeError("a list is needed")
    before = len(target)
    yield target
    print("%s: %d" % (label, len(target) - before))
