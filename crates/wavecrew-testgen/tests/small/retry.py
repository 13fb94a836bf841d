import functools


def limited(times):
    """A decorator that lets a function be called so often."""
    def wrap(function):
        left = times

        @functools.wraps(function)
        def call(*args, **kwargs):
            nonlocal left
            if left <= 0:
                raise RuntimeError("called too often")
            left -= 1
            return function(*args, **kwargs)

        return call

    return wrap


@limited(1000000)
def add(a: int, b: int) -> int:
    return a + b


def memoise(function):
    cache = {}

    def call(key):
        if key not in cache:
            cache[key] = function(key)
        return cache[key]

    return call


def total_of(function, numbers):
    cached = memoise(function)
    return sum(cached(number) for number in numbers)
