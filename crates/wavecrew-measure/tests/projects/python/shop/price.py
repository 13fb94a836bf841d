"""Prices in cents."""


def total(prices, discount=0):
    if not prices:
        return 0
    if discount < 0:
        raise ValueError("a discount is never negative")
    return sum(prices) * (100 - discount) // 100


def label(cents):
    if cents % 100 == 0:
        return f"{cents // 100} EUR"
    whole, rest = divmod(cents, 100)
    return f"{whole}.{rest:02} EUR"
