def permutations(items):
    if len(items) <= 1:
        return [list(items)]
    result = []
    for index, item in enumerate(items):
        rest = items[:index] + items[index + 1:]
        for tail in permutations(rest):
            result.append([item] + tail)
    return result


def hanoi(n, source="A", target="C", spare="B"):
    if n == 0:
        return []
    return hanoi(n - 1, source, spare, target) + [(source, target)] + hanoi(n - 1, spare, target, source)
