def wide(width):
    if width > 10:
        return True
    return False
