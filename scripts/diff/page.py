"""Writes the figures of measured pairs as Markdown, between marks of the page. Tables without results here stay."""

import json
import statistics

BEGIN = "<!-- {}: begin -->"
END = "<!-- {}: end -->"


def percent(part, whole):
    return f"{100 * part / whole:.0f} %" if whole else "?"


def results(pairs):
    for pair in pairs:
        file = pair.folder / "result.json"
        if file.exists():
            yield json.loads(file.read_text())


def found(run):
    return bool(run.get("telling"))


def lines_of(run):
    lines = run.get("changed_lines") or {}
    return lines.get("reached") or 0, lines.get("total") or 0


def median(runs, key):
    values = [run[key] for run in runs if key in run]
    return f"{statistics.median(values):.0f}" if values else "?"


def summary(measured):
    rows = ["| figure | goal | own tests visible | own tests hidden |", "| --- | --- | --- | --- |"]
    runs = {branch: [result[branch] for result in measured] for branch in ("visible", "hidden")}
    rows.append(f"| changes | | {len(measured)} | {len(measured)} |")

    def row(title, goal, cell):
        rows.append(f"| {title} | {goal} | {cell(runs['visible'])} | {cell(runs['hidden'])} |")

    row("a written test fails before and passes after", "60 % / 40 %", lambda some: f"{sum(map(found, some))} of {len(some)} ({percent(sum(map(found, some)), len(some))})")
    row("a difference is shown", "", lambda some: f"{sum(bool(run.get('differences')) for run in some)} of {len(some)}")
    row("a difference or a changed interface is shown", "", lambda some: f"{sum(bool(run.get('differences') or run.get('interface')) for run in some)} of {len(some)}")

    def reached(some):
        pairs = [lines_of(run) for run in some]
        return f"{sum(part for part, _ in pairs)} of {sum(whole for _, whole in pairs)} ({percent(sum(part for part, _ in pairs), sum(whole for _, whole in pairs))})"

    row("changed lines reached", "", reached)
    row("seconds, median", "", lambda some: f"{statistics.median(run['seconds'] for run in some):.0f}")
    row("processor seconds, median", "", lambda some: median(some, "processor"))
    row("load of the machine when a run began, median", "", lambda some: median(some, "load"))
    row("seconds, longest", "", lambda some: f"{max(run['seconds'] for run in some):.0f}")
    row("runs without a result", "0", lambda some: sum("problem" in run for run in some))
    row("runs that touched another file", "0", lambda some: sum("touched" in run for run in some))
    return [*rows, ""]


def cells(run):
    if "problem" in run:
        return ["no result", "", "", f"{run['seconds']:.0f}"]
    reached, total = lines_of(run)
    return ["yes" if found(run) else "no", str(run["differences"]), f"{reached}/{total}", f"{run['seconds']:.0f}"]


def section(title, measured):
    heads = ["package", "older", "newer", "lines", "proof"] + ["found", "diffs", "reached", "s"] * 2
    lines = [f"### {title}", "", "| | | | | | own tests visible | | | | own tests hidden | | | |", "| --- " * len(heads) + "|"]
    lines.append("| " + " | ".join(f"**{head}**" for head in heads) + " |")
    for result in measured:
        first = [result["name"], result["older"], result["newer"]]
        if "error" in result:
            lines.append("| " + " | ".join([*first, "could not be installed"]) + " |" * (len(heads) - 3))
            continue
        row = [*first, str(result["changed"]), str(result["proof"]), *cells(result["visible"]), *cells(result["hidden"])]
        lines.append("| " + " | ".join(row) + " |")
    return [*lines, ""]


EQUAL = (
    ("result.json", "Pairs of equal behaviour", "As the command does it: pairs that differ only in layout, comments or types are recognised by their text."),
    ("forced.json", "Pairs of equal behaviour, all compared", "With `--cosmetic`, which runs all pairs whatever their text says."),
)


def equal_section(home):
    lines = []
    for name, title, how in EQUAL:
        file = home / "equal" / name
        if not file.exists():
            continue
        cases = json.loads(file.read_text())
        lines += [f"## {title}", "", how, "", "| change | pairs | false differences | no result | inputs compared | seconds, median |", "| --- | --- | --- | --- | --- | --- |"]
        for kind in [*sorted({case["kind"] for case in cases}), None]:
            some = [case for case in cases if kind in (None, case["kind"])]
            false = sum(bool(case.get("differences")) for case in some)
            broken = sum("problem" in case or case["exit"] == 2 for case in some)
            inputs = sum(case.get("calls") or 0 for case in some)
            lines.append(f"| {kind or '**all** (goal: 0)'} | {len(some)} | {false} | {broken} | {inputs} | {statistics.median(case['seconds'] for case in some):.0f} |")
        lines.append("")
    return lines


def pairs_section(pairs):
    measured = [result for result in results(pairs) if "error" in result or result.get("complete")]
    lines = []
    for name, title in (("reported", "Packages not used for tuning"), ("tuning", "Packages used for tuning")):
        of_set = [result for result in measured if result["set"] == name]
        whole = [result for result in of_set if "error" not in result]
        if not whole:
            continue
        lines += [f"## {title}", "", *summary(whole)]
        for registry, label in (("pypi", "PyPI"), ("npm", "npm")):
            of_registry = [result for result in of_set if result["registry"] == registry]
            if of_registry:
                lines += section(label, of_registry)
    return lines


def replaced(text, name, lines):
    """The page with other lines between the marks of a part. Appends the part if the page does not have it."""
    begin, end = BEGIN.format(name), END.format(name)
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return before + "\n".join([begin, "", *lines, end]) + (after or "\n")


def write(home, pairs, output):
    text = output.read_text() if output.exists() else ""
    for name, lines in (("figures of releases", pairs_section(pairs)), ("figures of equal pairs", equal_section(home))):
        if lines:
            text = replaced(text, name, lines)
    output.write_text(text)
