from typing import Iterator, List


def chunks(items: List[int], size: int) -> Iterator[List[int]]:
    if size <= 0:
        raise ValueError("size must be positive")
    for start in range(0, len(items), size):
        yield items[start:start + size]
