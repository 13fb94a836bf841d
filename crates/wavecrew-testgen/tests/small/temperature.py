def convert(value: float, source: str, target: str) -> float:
    units = ("C", "F", "K")
    source, target = source.upper(), target.upper()
    if source not in units or target not in units:
        raise ValueError("unknown unit")
    if source == "F":
        value = (value - 32) * 5 / 9
    elif source == "K":
        value -= 273.15
    if value < -273.15:
        raise ValueError("below absolute zero")
    if target == "F":
        return value * 9 / 5 + 32
    if target == "K":
        return value + 273.15
    return value
