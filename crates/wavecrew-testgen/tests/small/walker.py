def walk(tree, path=()):
    """Pairs of a path and a leaf."""
    if isinstance(tree, dict):
        for key in sorted(tree):
            yield from walk(tree[key], path + (key,))
    elif isinstance(tree, list):
        for index, item in enumerate(tree):
            yield from walk(item, path + (index,))
    else:
        yield "/".join(str(part) for part in path), tree


def pairwise_runs(items, key=None):
    run = []
    for item in items:
        mark = key(item) if key else item
        if run and run[-1][0] != mark:
            yield [i for _, i in run]
            run = []
        run.append((mark, item))
    if run:
        yield [i for _, i in run]
