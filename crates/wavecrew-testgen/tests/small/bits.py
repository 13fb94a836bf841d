def count_set(n):
    count = 0
    while n > 0:
        count += n & 1
        n >>= 1
    return count


def reverse_bits(n, width=8):
    result = 0
    for _ in range(width):
        result = (result << 1) | (n & 1)
        n >>= 1
    return result


def highest_bit(n):
    if n <= 0:
        return -1
    return n.bit_length() - 1


def is_power_of_two(n):
    return n > 0 and n & (n - 1) == 0
