VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


def roman_to_int(numeral: str) -> int:
    if not numeral:
        raise ValueError("empty numeral")
    total = 0
    last = 0
    for letter in reversed(numeral.upper()):
        if letter not in VALUES:
            raise ValueError("not a roman digit: %s" % letter)
        value = VALUES[letter]
        if value < last:
            total -= value
        else:
            total += value
            last = value
    return total
