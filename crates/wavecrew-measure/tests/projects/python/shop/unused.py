def never(a):
    if a:
        return 1
    return 2
