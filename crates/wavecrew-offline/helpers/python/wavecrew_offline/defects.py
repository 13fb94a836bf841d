"""What looks like a defect rather than like behaviour to keep."""


def plain_enough(entries):
    """Entries without trivial failures of functions that also have real results."""
    seen = set()
    kept = []
    for entry in entries:
        if entry.target["how"] == "setter" and entry.facts == [("{}", "is", "None")]:
            continue  # nothing to assert
        if entry.how == "raises" and not entry.explicit:
            key = (entry.case.target, entry.facts[0], tuple(entry.error or ())[-1:])
            if key in seen:
                continue
            seen.add(key)
        kept.append(entry)
    return kept
