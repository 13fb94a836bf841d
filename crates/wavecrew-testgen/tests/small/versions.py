def compare_versions(left: str, right: str) -> int:
    first = [int(part) for part in left.split(".")]
    second = [int(part) for part in right.split(".")]
    size = max(len(first), len(second))
    first += [0] * (size - len(first))
    second += [0] * (size - len(second))
    if first < second:
        return -1
    return 1 if first > second else 0
