class Node:
    def __init__(self, value, left=None, right=None):
        self.value = value
        self.left = left
        self.right = right


def depth(root):
    if root is None:
        return 0
    return 1 + max(depth(root.left), depth(root.right))


def in_order(root):
    if root is None:
        return []
    return in_order(root.left) + [root.value] + in_order(root.right)


def is_ordered(root, low=None, high=None):
    if root is None:
        return True
    if low is not None and root.value <= low:
        return False
    if high is not None and root.value >= high:
        return False
    return is_ordered(root.left, low, root.value) and is_ordered(root.right, root.value, high)
