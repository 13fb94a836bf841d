def run_lengths(text):
    """Pairs of a character and how often it stands in a row."""
    pairs = []
    for char in text:
        if pairs and pairs[-1][0] == char:
            pairs[-1] = (char, pairs[-1][1] + 1)
        else:
            pairs.append((char, 1))
    return pairs
