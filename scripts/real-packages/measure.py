"""Measures `wavecrew testing -y --agent offline` on the packages of packages.txt. Started by scripts/real-packages.sh."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import registry
import table

HERE = Path(__file__).resolve().parent
# A run that takes longer is ended, and counts as failed.
LONGEST = 30 * 60


def packages():
    """The pinned packages: registry, name, version, set, and what else their tests need."""
    for source, name, version, group, *extras in registry.pinned(HERE / "packages.txt"):
        yield {"registry": source, "name": name, "version": version, "set": group, "extras": extras}


def memory_of_tree(root):
    """Resident memory of a process and its descendants, in bytes."""
    parents, memory = {}, {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            text = Path("/proc", entry, "stat").read_text()
            shared = Path("/proc", entry, "statm").read_text().split()
        except OSError:
            continue
        parents[int(entry)] = int(text.rpartition(")")[2].split()[1])
        memory[int(entry)] = (int(shared[1]) - int(shared[2])) * os.sysconf("SC_PAGE_SIZE")
    total = 0
    for process in parents:
        ancestor = process
        while ancestor not in (root, 0, 1) and ancestor in parents:
            ancestor = parents[ancestor]
        if ancestor == root:
            total += memory[process]
    return total


def measure(program, project, log):
    """One run of the main command. Returns its figures."""
    shutil.rmtree(project / ".workflow", ignore_errors=True)
    started = time.monotonic()
    with log.open("w") as output:
        process = subprocess.Popen(
            [program, "-C", project, "testing", "-y", "--agent", "offline"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        peak = 0
        while process.poll() is None:
            peak = max(peak, memory_of_tree(process.pid))
            if time.monotonic() - started > LONGEST:
                process.terminate()
            time.sleep(0.5)
    figures = {
        "exit": process.returncode,
        "seconds": round(time.monotonic() - started),
        "peak_mb": round(peak / 2**20),
    }
    covered = re.search(r"own tests cover ([\d.]+) %", log.read_text(errors="replace"))
    if covered:
        figures["own_coverage"] = float(covered[1])
    sessions = [path.parent for path in project.glob(".workflow/.csv-wave/*/session.json")]
    for session in sessions:
        figures |= session_figures(session)
    return figures


def session_figures(session):
    def read(name):
        try:
            return (session / name).read_text()
        except OSError:
            return ""

    figures = {"summary": json.loads(read("results/summary.json") or "null")}
    scope = json.loads(read("scope.json") or "{}")
    figures["modules"] = len(scope.get("files", []))
    board = [json.loads(line) for line in read("discoveries.ndjson").splitlines() if line.strip()]
    figures["defects"] = [entry["data"] for entry in board if entry.get("type") == "defect_found"]
    return figures


def folder_of(home, package):
    return home / f"{package['registry']}-{package['name'].replace('/', '-')}-{package['version']}"


def prepare(folder, package):
    """Downloads and installs a package, unless that was done. Returns what went wrong, if anything."""
    if (folder / "ready").exists():
        return None
    try:
        archive = registry.download(package["registry"], package["name"], package["version"], folder / "archive")
        registry.unpack(archive, folder / "project")
        registry.make_environment(package["registry"], folder / "project", package["extras"])
    except (RuntimeError, OSError) as error:
        print(f"{package['name']}: {error}", file=sys.stderr)
        return str(error)
    (folder / "ready").touch()
    return None


def one(program, folder, package):
    """Measures a package with its own tests and without them."""
    result_file = folder / "result.json"
    if result_file.exists() and json.loads(result_file.read_text()).get("complete"):
        return
    folder.mkdir(parents=True, exist_ok=True)
    result = {key: package[key] for key in ("registry", "name", "version", "set")}
    error = prepare(folder, package)
    if error:
        result_file.write_text(json.dumps(result | {"error": error}, indent=2) + "\n")
        return
    # A second start needs a fresh copy: the own tests are removed below.
    (folder / "ready").unlink()
    project = folder / "project"
    result["as_delivered"] = measure(program, project, folder / "as-delivered.log")
    keep(project, folder / "as-delivered")
    result["own_test_files"] = registry.remove_tests(project)
    if result["own_test_files"]:
        result["without_tests"] = measure(program, project, folder / "without-tests.log")
        keep(project, folder / "without-tests")
    result["complete"] = True
    result_file.write_text(json.dumps(result, indent=2) + "\n")


def keep(project, folder):
    """Keeps the sessions of a run, so that their tests can be read."""
    shutil.rmtree(folder, ignore_errors=True)
    if (project / ".workflow").exists():
        shutil.copytree(
            project / ".workflow", folder, symlinks=True, ignore=shutil.ignore_patterns("tree", "rounds", "node_modules", ".venv")
        )


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("program")
    arguments.add_argument("home", type=Path)
    arguments.add_argument("--set", choices=["tuning", "reported"])
    arguments.add_argument("--prepare", action="store_true", help="only download and install the packages")
    arguments.add_argument("--table", action="store_true", help="only write the table from existing results")
    arguments.add_argument("--output", type=Path, default=HERE / "../../docs/reference/real-packages.md")
    arguments.add_argument("names", nargs="*")
    options = arguments.parse_intermixed_args()
    chosen = [
        package
        for package in packages()
        if options.set in (None, package["set"]) and (not options.names or package["name"] in options.names)
    ]
    if options.prepare:
        for package in chosen:
            prepare(folder_of(options.home, package), package)
        return
    if not options.table:
        for number, package in enumerate(chosen, 1):
            print(f"{number}/{len(chosen)} {package['registry']} {package['name']} {package['version']}", flush=True)
            one(options.program, folder_of(options.home, package), package)
    table.write(options.home, chosen, options.output)


if __name__ == "__main__":
    main()
