"""Runs the offline agent on modules from PyPI and on the small functions of its tests, and writes the scoreboard.

    scoreboard.py WAVECREW OUTPUT.md SECONDS SEED [MODULE...]
"""
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SMALL = os.path.join(HERE, "..", "..", "crates", "wavecrew-offline", "tests", "small")
SMALL_SECONDS = 3

# Line and branch coverage of the better of Pynguin (60 s) and a prototype without classes, the figures to reach.
MODULES = (
    ("inflection", "inflection/__init__.py", 97.5, 90.9),
    ("semver.version", "semver/version.py", 88.6, 80.2),
    ("slugify.slugify", "slugify/slugify.py", 79.3, 69.1),
    ("humanize.number", "humanize/number.py", 90.0, 81.2),
    ("humanize.time", "humanize/time.py", 73.6, 57.1),
    ("isodate.isoduration", "isodate/isoduration.py", 50.0, 25.0),
    ("toolz.dicttoolz", "toolz/dicttoolz.py", 91.4, 81.0),
    ("parse", "parse/__init__.py", 45.7, 27.6),
    ("wcwidth.align", "wcwidth/align.py", 100.0, 100.0),
)


def measure(wavecrew, name, source, root, seconds, seed):
    """Figures for one module: what the agent wrote, as judged by others."""
    with tempfile.TemporaryDirectory() as out:
        started = time.monotonic()
        ran = subprocess.run(
            [wavecrew, "-q", "__offline", "--root", root, "--out", out, "--seed", str(seed), "--budget", str(seconds),
             "--interpreter", sys.executable, source], stdout=subprocess.PIPE)
        wall = time.monotonic() - started
        module = json.loads(ran.stdout)["modules"][0]
        files = [written["path"] for written in module["written"]]
        figures = {"line": 0.0, "branch": 0.0, "kills": 0.0, "passes": 0, "shuffles": 20, "mutants": 0}
        if files:
            judged = subprocess.run(
                [sys.executable, os.path.join(HERE, "judge.py"), name, source, root] + files, stdout=subprocess.PIPE)
            figures = json.loads(judged.stdout)
        figures.update(wall=wall, tests=sum(len(w["tests"]) for w in module["written"]), defects=len(module["defects"]))
        return figures


def row(name, figures, line=None, branch=None):
    wanted = "%.1f / %.1f" % (line, branch) if line is not None else ""
    return "| %s | %.1f | %.1f | %s | %.1f | %d/%d | %d | %.1f |" % (
        name, figures["line"], figures["branch"], wanted, figures["kills"], figures["passes"], figures["shuffles"],
        figures["tests"], figures["wall"])


def main():
    wavecrew, output, seconds, seed, only = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4]), sys.argv[5:]
    wavecrew = os.path.abspath(wavecrew)
    packages = sysconfig.get_paths()["purelib"]
    head = ["| module | line % | branch % | to reach | kills % | shuffled runs that pass | tests | wall s |",
            "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    rows, all_figures = [], []
    for name, path, line, branch in MODULES:
        if only and name not in only:
            continue
        figures = measure(wavecrew, name, os.path.join(packages, path), packages, seconds, seed)
        rows.append(row(name, figures, line, branch))
        all_figures.append(figures)
        print(rows[-1], flush=True)
    rows.append(row("**average**", average(all_figures))) if all_figures else None
    small_rows, small_figures = [], []
    with tempfile.TemporaryDirectory() as copy:
        root = os.path.join(copy, "small")
        shutil.copytree(SMALL, root)
        for file in sorted(os.listdir(root)):
            name = file[:-3]
            if not file.endswith(".py") or only and name not in only and "small" not in only:
                continue
            figures = measure(wavecrew, name, os.path.join(root, file), root, SMALL_SECONDS, seed)
            small_rows.append(row(name, figures))
            small_figures.append(figures)
            print(small_rows[-1], flush=True)
    if small_figures:
        small_rows.append(row("**average**", average(small_figures)))
        print(small_rows[-1])
    if only:
        return
    with open(output, "w", encoding="utf-8") as file:
        file.write(
            "# Scoreboard of the offline agent\n\n"
            "Written by `scripts/offline-scoreboard.sh` (seed %d, Python %s). Coverage by coverage.py, tests run by pytest,\n"
            "kills among up to 80 mutants per module from a mutator that the agent does not share (`scripts/offline/judge.py`).\n"
            "\"To reach\" is line / branch of the better of Pynguin with 60 s and a simple random search.\n\n"
            "## Modules from PyPI, %g s each\n\n%s\n\n## Small functions, %g s each\n\n%s\n" % (
                seed, sys.version.split()[0], seconds, "\n".join(head + rows), SMALL_SECONDS,
                "\n".join(head + small_rows)))


def average(figures):
    count = len(figures)
    mean = {key: sum(f[key] for f in figures) / count for key in ("line", "branch", "kills", "wall")}
    return dict(mean, passes=sum(f["passes"] for f in figures), shuffles=sum(f["shuffles"] for f in figures),
                tests=sum(f["tests"] for f in figures))


if __name__ == "__main__":
    main()
