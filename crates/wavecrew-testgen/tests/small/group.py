def group_totals(rows, by, amount="amount", minimum=0):
    """Sums of `amount` per value of `by`."""
    totals = {}
    for row in rows:
        if by not in row:
            continue
        value = row.get(amount, 0)
        if value < minimum:
            continue
        totals[row[by]] = totals.get(row[by], 0) + value
    return dict(sorted(totals.items(), key=lambda pair: (-pair[1], pair[0])))


def pivot(pairs):
    out = {}
    for key, value in pairs:
        out.setdefault(value, []).append(key)
    return {value: sorted(keys) for value, keys in out.items() if len(keys) > 1}
