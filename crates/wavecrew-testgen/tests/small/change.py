def make_change(amount, coins=(50, 20, 10, 5, 2, 1)):
    if amount < 0:
        raise ValueError("negative amount")
    used = {}
    for coin in sorted(coins, reverse=True):
        count, amount = divmod(amount, coin)
        if count:
            used[coin] = count
    if amount:
        raise ValueError("cannot be changed exactly")
    return used
