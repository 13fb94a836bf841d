from datetime import date, datetime, timedelta


def next_weekday(day: date, weekday: int) -> date:
    """The next day with the given weekday, Monday is 0; never the same day."""
    if weekday not in range(7):
        raise ValueError("weekday must be in 0..6")
    ahead = (weekday - day.weekday()) % 7
    return day + timedelta(days=ahead or 7)


def parse_day(text: str) -> date:
    for form in ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y"):
        try:
            return datetime.strptime(text, form).date()
        except ValueError:
            continue
    raise ValueError("no known date format: " + text)
