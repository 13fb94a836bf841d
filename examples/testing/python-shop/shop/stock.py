"""What is on the shelves."""


class Stock:
    def __init__(self):
        self._items = {}

    def add(self, name, count=1):
        if count < 1:
            raise ValueError("add at least one")
        self._items[name] = self._items.get(name, 0) + count

    def take(self, name, count=1):
        left = self._items.get(name, 0) - count
        if left < 0:
            raise LookupError(f"only {self._items.get(name, 0)} of {name} left")
        if left == 0:
            del self._items[name]
        else:
            self._items[name] = left
        return left

    def names(self):
        return sorted(self._items)
