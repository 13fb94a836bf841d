def spiral(matrix):
    """The items of a matrix, from outside to inside."""
    result = []
    rows = [list(row) for row in matrix]
    while rows:
        result += rows.pop(0)
        if rows and rows[0]:
            for row in rows:
                result.append(row.pop())
        if rows:
            result += rows.pop()[::-1]
        if rows and rows[0]:
            for row in rows[::-1]:
                result.append(row.pop(0))
    return result
