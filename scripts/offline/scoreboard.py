"""Runs the offline agent on modules from PyPI, packages from npm and small functions, and writes the scoreboard.

    scoreboard.py WAVECREW OUTPUT.md SECONDS SEED NODE_MODULES [MODULE...]
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
SMALL = os.path.join(HERE, "..", "..", "crates", "wavecrew-testgen", "tests", "small")
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


# Packages from npm, with the file under test; the last has classes.
PACKAGES = (
    ("ms", "index.js"), ("bytes", "index.js"), ("camelcase", "index.js"), ("pretty-bytes", "index.js"),
    ("quick-lru", "index.js"),
)
LINES_TO_REACH = 80.0


def measure(wavecrew, name, source, root, seconds, seed):
    """Figures for one module: what the agent wrote, measured independently."""
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
            measured = subprocess.run(
                [sys.executable, os.path.join(HERE, "measure.py"), name, source, root] + files, stdout=subprocess.PIPE)
            figures = json.loads(measured.stdout)
        figures.update(wall=wall, tests=sum(len(w["tests"]) for w in module["written"]), defects=len(module["defects"]))
        return figures


def measure_package(wavecrew, package, file, modules, seconds, seed):
    """The same for a package from npm, in a copy of it."""
    with tempfile.TemporaryDirectory() as root:
        root = os.path.realpath(root)
        home = os.path.join(modules, package)
        shutil.copytree(home, os.path.join(root, "src"))
        for readme in os.listdir(home):
            if readme.lower() == "readme.md":
                shutil.copy(os.path.join(home, readme), os.path.join(root, "README.md"))
        os.symlink(modules, os.path.join(root, "node_modules"))
        with open(os.path.join(home, "package.json"), encoding="utf-8") as text:
            kind = json.load(text).get("type", "commonjs")
        with open(os.path.join(root, "package.json"), "w", encoding="utf-8") as text:
            json.dump({"private": True, "type": kind}, text)
        source, tests = os.path.join(root, "src", file), os.path.join(root, "tests")
        started = time.monotonic()
        ran = subprocess.run(
            [wavecrew, "-q", "__offline", "--root", root, "--out", tests, "--seed", str(seed), "--budget", str(seconds), source],
            stdout=subprocess.PIPE)
        wall = time.monotonic() - started
        module = json.loads(ran.stdout)["modules"][0]
        figures = {"line": 0.0, "branch": 0.0, "kills": 0.0, "passes": 0, "shuffles": 20, "mutants": 0}
        if module["written"]:
            measured = subprocess.run(
                ["node", os.path.join(HERE, "measure.mjs"), root, source, module["written"][0]["path"]], stdout=subprocess.PIPE)
            figures = json.loads(measured.stdout)
        figures.update(wall=wall, tests=sum(len(w["tests"]) for w in module["written"]), defects=len(module["defects"]))
        return figures


def row(name, figures, line=None, branch=None):
    wanted = "" if line is None else "%.1f" % line if branch is None else "%.1f / %.1f" % (line, branch)
    return "| %s | %.1f | %.1f | %s | %.1f | %d/%d | %d | %.1f |" % (
        name, figures["line"], figures["branch"], wanted, figures["kills"], figures["passes"], figures["shuffles"],
        figures["tests"], figures["wall"])


def main():
    wavecrew, output, seconds, seed, modules = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
    only = sys.argv[6:]
    board = Board(output if not only else None, seconds, seed)
    wavecrew = os.path.abspath(wavecrew)
    packages = sysconfig.get_paths()["purelib"]
    for name, path, line, branch in MODULES:
        if not only or name in only:
            figures = measure(wavecrew, name, os.path.join(packages, path), packages, seconds, seed)
            board.add("modules", name, figures, line, branch)
    for package, file in PACKAGES:
        if not only or package in only:
            figures = measure_package(wavecrew, package, file, modules, seconds, seed)
            board.add("packages", package, figures, LINES_TO_REACH)
    with tempfile.TemporaryDirectory() as copy:
        root = os.path.join(copy, "small")
        shutil.copytree(SMALL, root)
        for file in sorted(os.listdir(root)):
            name = file[:-3]
            if file.endswith(".py") and (not only or name in only):
                figures = measure(wavecrew, name, os.path.join(root, file), root, SMALL_SECONDS, seed)
                board.add("small", name, figures)


class Board:
    """The scoreboard. Written after each module, so that an interrupted run is not lost."""

    def __init__(self, output, seconds, seed):
        self.output, self.seconds, self.seed = output, seconds, seed
        self.rows = {"modules": [], "packages": [], "small": []}
        self.figures = {"modules": [], "packages": [], "small": []}

    def add(self, table, name, figures, line=None, branch=None):
        self.rows[table].append(row(name, figures, line, branch))
        self.figures[table].append(figures)
        print(self.rows[table][-1], flush=True)
        if self.output:
            with open(self.output, "w", encoding="utf-8") as file:
                file.write(self.text())

    def table(self, name):
        head = ["| module | line % | branch % | to reach | kills % | shuffled runs that pass | tests | wall s |",
                "| --- | --- | --- | --- | --- | --- | --- | --- |"]
        rows = self.rows[name]
        if rows:
            rows = rows + [row("**average**", average(self.figures[name]))]
        return "\n".join(head + rows)

    def text(self):
        mutants = os.environ.get("SCOREBOARD_MUTANTS", "80")
        return (
            "# Scoreboard of the offline agent\n\n"
            "This page shows how good the tests of the [offline agent](offline-agent.md) are, measured with independent tools.\n"
            "`scripts/offline-scoreboard.sh` writes this page (seed %d, Python %s).\n\n"
            "| column | meaning |\n| --- | --- |\n"
            "| line %%, branch %% | Coverage by coverage.py, tests run by pytest. |\n"
            "| to reach | The bar to beat. PyPI: line / branch coverage of the better of Pynguin with 60 s and a simple random search. npm: a line coverage of 80 %%. |\n"
            "| kills %% | Killed among up to %s mutants per module from an independent mutator (`scripts/offline/measure.py`). Mutants of lines that no test reaches count as survivors. |\n"
            "| wall s | Elapsed time, including the checks after the search. Budgets are processor time. |\n\n"
            "## Modules from PyPI, %g s each\n\n%s\n\n"
            "## Packages from npm, %g s each\n\nTests and coverage by vitest, mutants by `scripts/offline/measure.mjs`.\n\n%s\n\n"
            "## Small functions, %g s each\n\nThe functions in `crates/wavecrew-testgen/tests/small`.\n\n%s\n" % (
                self.seed, sys.version.split()[0], mutants, self.seconds, self.table("modules"), self.seconds,
                self.table("packages"), SMALL_SECONDS, self.table("small")))


def average(figures):
    count = len(figures)
    mean = {key: sum(f[key] for f in figures) / count for key in ("line", "branch", "kills", "wall")}
    return dict(mean, passes=sum(f["passes"] for f in figures), shuffles=sum(f["shuffles"] for f in figures),
                tests=sum(f["tests"] for f in figures))


if __name__ == "__main__":
    main()
