from datetime import date, timedelta


def add_workdays(start: date, days: int, holidays=()) -> date:
    step = 1 if days >= 0 else -1
    left = abs(days)
    current = start
    while left > 0:
        current += timedelta(days=step)
        if current.weekday() < 5 and current not in holidays:
            left -= 1
    return current


def quarter(day: date) -> str:
    return "Q%d %d" % ((day.month - 1) // 3 + 1, day.year)
