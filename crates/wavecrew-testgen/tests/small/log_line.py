import re

LINE = re.compile(r"^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}) \[(INFO|WARN|ERROR)\] (\w+): (.*)$")


def parse_log(line):
    match = LINE.match(line)
    if match is None:
        return None
    date, time, level, source, message = match.groups()
    hour = int(time[:2])
    entry = {"date": date, "level": level, "source": source, "message": message.strip()}
    if hour < 6 or hour >= 22:
        entry["night"] = True
    if level == "ERROR" and "timeout" in message.lower():
        entry["retry"] = True
    return entry
