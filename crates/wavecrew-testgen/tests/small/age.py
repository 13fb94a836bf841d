from datetime import date


def age_on(birth: date, day: date) -> int:
    if day < birth:
        raise ValueError("not born yet")
    years = day.year - birth.year
    if (day.month, day.day) < (birth.month, birth.day):
        years -= 1
    return years


def quarter(day: date) -> str:
    return f"{day.year}-Q{(day.month - 1) // 3 + 1}"


def next_weekday(day: date, weekday: int) -> date:
    from datetime import timedelta
    if not 0 <= weekday <= 6:
        raise ValueError("weekday out of range")
    ahead = weekday - day.weekday()
    if ahead <= 0:
        ahead += 7
    return day + timedelta(days=ahead)
