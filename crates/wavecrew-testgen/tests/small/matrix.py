def transpose(matrix):
    if not matrix:
        return []
    width = len(matrix[0])
    if any(len(row) != width for row in matrix):
        raise ValueError("rows differ in length")
    return [[row[i] for row in matrix] for i in range(width)]


def determinant(m):
    if len(m) == 1:
        return m[0][0]
    if len(m) == 2:
        return m[0][0] * m[1][1] - m[0][1] * m[1][0]
    total = 0
    for column in range(len(m)):
        minor = [row[:column] + row[column + 1:] for row in m[1:]]
        total += (-1) ** column * m[0][column] * determinant(minor)
    return total
