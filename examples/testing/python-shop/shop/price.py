"""Prices in cents."""


def total(items, discount=0):
    """The sum of the items, less a discount in percent."""
    if not 0 <= discount <= 100:
        raise ValueError(f"a discount of {discount} % makes no sense")
    net = sum(quantity * cents for quantity, cents in items)
    return net - net * discount // 100


def shipping(cents, express=False):
    """What sending an order costs."""
    if cents >= 5000:
        return 0 if not express else 499
    return 999 if express else 499


def shown(cents, currency="EUR"):
    """A price as people read it."""
    if cents < 0:
        return "-" + shown(-cents, currency)
    return f"{cents // 100}.{cents % 100:02d} {currency}"
