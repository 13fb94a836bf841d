def parse_ini(text: str) -> dict:
    """Sections of `key = value` lines."""
    sections = {}
    current = None
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line[0] in "#;":
            continue
        if line.startswith("[") and line.endswith("]"):
            current = line[1:-1].strip()
            if not current:
                raise ValueError(f"line {number}: empty section name")
            sections.setdefault(current, {})
            continue
        if "=" not in line:
            raise ValueError(f"line {number}: no value")
        if current is None:
            raise ValueError(f"line {number}: outside of a section")
        key, _, value = line.partition("=")
        sections[current][key.strip()] = value.strip()
    return sections
