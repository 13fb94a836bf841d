def sliding(items, size, step=1):
    """Windows over a list, as a generator."""
    if size < 1 or step < 1:
        raise ValueError("size and step must be positive")
    for start in range(0, len(items) - size + 1, step):
        yield items[start:start + size]


def pairwise_differences(numbers):
    previous = None
    for number in numbers:
        if previous is not None:
            yield number - previous
        previous = number
