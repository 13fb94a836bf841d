def best_value(items: list[tuple[int, int]], capacity: int) -> int:
    """Items are (weight, value)."""
    if capacity < 0:
        raise ValueError("capacity")
    best = [0] * (capacity + 1)
    for weight, value in items:
        for room in range(capacity, weight - 1, -1):
            best[room] = max(best[room], best[room - weight] + value)
    return best[capacity]


def lcs(a: str, b: str) -> str:
    if not a or not b:
        return ""
    if a[0] == b[0]:
        return a[0] + lcs(a[1:], b[1:])
    left, right = lcs(a[1:], b), lcs(a, b[1:])
    return left if len(left) >= len(right) else right
