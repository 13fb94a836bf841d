def stock():
    return ["apple"]


def empty():
    return []
