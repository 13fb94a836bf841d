class BoundedStack:
    """A stack that refuses to grow beyond its capacity."""

    def __init__(self, capacity: int = 3):
        if capacity < 1:
            raise ValueError("capacity must be at least 1")
        self._items = []
        self.capacity = capacity

    def push(self, item):
        if len(self._items) >= self.capacity:
            raise OverflowError("stack is full")
        self._items.append(item)

    def pop(self):
        if not self._items:
            raise IndexError("stack is empty")
        return self._items.pop()

    @property
    def peak(self):
        return self._items[-1] if self._items else None

    def __len__(self):
        return len(self._items)
