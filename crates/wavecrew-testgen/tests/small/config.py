def parse_config(text):
    """Reads lines of key = value; [name] starts a section."""
    sections = {"": {}}
    current = ""
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#", 1)[0].strip()
        if not line:
            continue
        if line.startswith("[") and line.endswith("]"):
            current = line[1:-1].strip()
            sections.setdefault(current, {})
        elif "=" in line:
            key, value = line.split("=", 1)
            sections[current][key.strip()] = value.strip()
        else:
            raise ValueError("line %d: expected key = value" % number)
    return sections
