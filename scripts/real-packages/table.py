"""Writes the figures of measured packages as Markdown, between two marks of the page."""

import json
import statistics

BEGIN = "<!-- figures: begin -->"
END = "<!-- figures: end -->"


def results(home, packages):
    for package in packages:
        folder = home / f"{package['registry']}-{package['name'].replace('/', '-')}-{package['version']}"
        file = folder / "result.json"
        if file.exists():
            yield json.loads(file.read_text())


def percent(value):
    return "?" if value is None else f"{value:g}"


def cells(run):
    """Tests, coverage, mutants, suspected defects, time and memory of a run."""
    if run is None:
        return ["", "", "", "", "", ""]
    minutes = f"{run['seconds'] // 60}:{run['seconds'] % 60:02}"
    memory = f"{run['peak_mb']}"
    summary = run.get("summary")
    if not summary and "own_coverage" in run:
        return ["met", f"{run['own_coverage']:g}", "", "", minutes, memory]
    if not summary:
        return ["0", "", "", "", minutes, memory]
    before, after = (percent(summary[f"coverage_{when}"]) for when in ("before", "after"))
    return [
        str(summary["kept_tests"]),
        f"{before} → {after}",
        f"{summary['mutants_killed']}/{summary['mutants']}" if summary["mutants"] else "",
        str(summary["suspected_defects"]),
        minutes,
        memory,
    ]


def main_run(result):
    """The run on a project without tests: that of packages whose distribution has none is the only one."""
    return result.get("without_tests") or (result["as_delivered"] if not result.get("own_test_files") else None)


def section(title, measured):
    lines = [f"### {title}", ""]
    heads = ["package", "modules"] + [
        f"{name}" for name in ("kept", "coverage %", "mutants", "suspected", "time", "MB")
    ] * 2
    lines.append("| | | as delivered | | | | | | own tests removed | | | | | |")
    lines.append("| --- " * len(heads) + "|")
    lines.append("| " + " | ".join(f"**{head}**" for head in heads) + " |")
    for result in measured:
        name = f"{result['name']} {result['version']}"
        if "error" in result:
            lines.append(f"| {name} | could not be installed |" + " |" * (len(heads) - 2))
            continue
        run = result["as_delivered"]
        row = [name, str((main_run(result) or run).get("modules", "?")), *cells(run), *cells(result.get("without_tests"))]
        lines.append("| " + " | ".join(row) + " |")
    return lines


def summary(measured, listed):
    """The figures over all packages, against the goals."""
    installed = [result for result in measured if "error" not in result]
    runs = [run for run in map(main_run, installed) if run]
    # Doctests may meet the target without any test file.
    runs = [run for run in runs if "own_coverage" not in run]
    kept = sum(bool((run.get("summary") or {}).get("kept_tests")) for run in runs)
    coverage = [(run.get("summary") or {}).get("coverage_after") or 0 for run in runs]
    small = [run for result in installed for run in (result["as_delivered"], result.get("without_tests")) if run]
    small = [run for run in small if run.get("modules", 0) <= 30]
    longest = max((run["seconds"] for run in small), default=0)
    late = sum(run["seconds"] > 600 for run in small)
    defects = sum((run.get("summary") or {}).get("suspected_defects", 0) for run in runs)
    memory = max((run["peak_mb"] for run in small), default=0)
    median = statistics.median(coverage) if coverage else 0
    return [
        "| figure | goal | measured |",
        "| --- | --- | --- |",
        f"| packages measured | | {len(installed)} of {listed} |",
        f"| kept tests, own tests removed | 95 % | {kept} of {len(runs)} |",
        f"| line coverage, own tests removed, median | 80 % | {median:g} % |",
        f"| longest run up to 30 modules | 10 min | {longest // 60}:{longest % 60:02} min ({late} runs over 10 min) |",
        f"| most memory up to 30 modules | | {memory} MB |",
        f"| suspected defects, own tests removed | | {defects} |",
        "",
    ]


def write(home, packages, output):
    measured = list(results(home, packages))
    lines = [BEGIN, ""]
    for name, title in (("reported", "Packages not used for tuning"), ("tuning", "Packages used for tuning")):
        of_set = [result for result in measured if result["set"] == name]
        if not of_set:
            continue
        listed = sum(package["set"] == name for package in packages)
        lines += [f"## {title}", "", *summary(of_set, listed)]
        for registry, label in (("pypi", "PyPI"), ("npm", "npm")):
            of_registry = [result for result in of_set if result["registry"] == registry]
            if of_registry:
                lines += [*section(label, of_registry), ""]
    lines.append(END)
    text = output.read_text() if output.exists() else f"{BEGIN}\n{END}\n"
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    output.write_text(before + "\n".join(lines) + after)
