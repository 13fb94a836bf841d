def square_root(x, tolerance=1e-9):
    if x < 0:
        raise ValueError("no root of a negative number")
    if x == 0:
        return 0.0
    guess = x / 2 if x > 1 else 1.0
    while abs(guess * guess - x) > tolerance * max(x, 1):
        guess = (guess + x / guess) / 2
    return guess


def gcd(a, b):
    while b:
        a, b = b, a % b
    return abs(a)


def collatz(n):
    if n < 1:
        raise ValueError("starts at 1")
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps
