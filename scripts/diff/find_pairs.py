"""Looks for neighbouring releases whose newer tests fail on the older source, to extend pairs.txt by hand.

    python3 scripts/diff/find_pairs.py HOME pypi|npm NAME[,EXTRA...]... [--releases 12] [--lines 300]

Prints one line for each pair that proves a change of behaviour."""

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import releases


def versions(source, name):
    if source == "npm":
        done = subprocess.run(["npm", "view", name, "versions", "--json"], capture_output=True, text=True)
        found = json.loads(done.stdout or "[]")
    else:
        done = subprocess.run([sys.executable, "-m", "pip", "index", "versions", name], capture_output=True, text=True)
        line = re.search(r"Available versions: (.*)", done.stdout)
        found = list(reversed(line[1].split(", "))) if line else []
    return [version for version in found if re.fullmatch(r"[\d.]+", version)]


def by_number(version):
    return tuple(int(part) for part in version.split(".") if part)


def shared_environment(home, source, name, newest, extras):
    """One environment for all releases of a package: only for the search, not for the measurement."""
    folder = home / "search" / f"{source}-{name.replace('/', '-')}"
    if not (folder / "ready").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        pair = releases.Pair(home, source, name, newest, newest, "tuning", extras)
        releases.copy_release(releases.fetch(pair, newest), folder, extras, source)
        pair.project = folder
        if source == "npm":
            # Their tests do not need vitest, which is large.
            package = json.loads((folder / "package.json").read_text())
            package["devDependencies"].pop("vitest", None)
            (folder / "package.json").write_text(json.dumps(package))
        releases.make_environment(pair)
        (folder / "ready").touch()
    return folder


def try_pair(pair, environment, most_lines):
    older, newer = releases.fetch(pair, pair.older), releases.fetch(pair, pair.newer)
    changed = releases.changed_lines(older, newer)
    if not 0 < changed <= most_lines:
        return f"{changed} changed lines"
    pair.before, pair.after = pair.folder / "before", pair.folder / "after"
    releases.copy_release(older, pair.before, pair.extras, pair.registry, tests_from=newer)
    releases.copy_release(newer, pair.after, pair.extras, pair.registry)
    if not any(releases.is_test(inner) for inner in releases.files(pair.after)):
        return "no tests"
    if pair.registry == "npm":
        for folder in (pair.before, pair.after):
            (folder / "node_modules").symlink_to(environment / "node_modules")
    python = environment / ".venv/bin/python"
    after = releases.run_tests(pair, pair.after, python=python)
    before = releases.run_tests(pair, pair.before, python=python)
    found = releases.compare(before, after)
    if not found["fail_on_older"]:
        return f"no proof ({found['passed']}/{found['tests']} pass, {found['not_loaded_on_older']} not loaded)"
    return found | {"changed_lines": changed}


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("home", type=Path)
    arguments.add_argument("registry", choices=["pypi", "npm"])
    arguments.add_argument("names", nargs="+")
    arguments.add_argument("--releases", type=int, default=10)
    arguments.add_argument("--lines", type=int, default=300)
    arguments.add_argument("--first", action="store_true", help="only the newest pair of each package")
    options = arguments.parse_args()
    for word in options.names:
        name, *extras = word.split(",")
        try:
            known = sorted(versions(options.registry, name), key=by_number)[-options.releases - 1 :]
            environment = shared_environment(options.home, options.registry, name, known[-1], extras)
        except (RuntimeError, OSError, IndexError) as error:
            print(f"# {name}: {str(error)[-300:]}", flush=True)
            continue
        for older, newer in reversed(list(zip(known, known[1:]))):
            pair = releases.Pair(options.home, options.registry, name, older, newer, "?", extras)
            pair.folder = options.home / "search" / pair.id
            try:
                found = try_pair(pair, environment, options.lines)
            except (RuntimeError, OSError, ValueError) as error:
                found = str(error)[-200:]
            shutil.rmtree(pair.folder, ignore_errors=True)
            if isinstance(found, str):
                print(f"# {name} {older} {newer}: {found}", flush=True)
            else:
                tests = found["fail_on_older"]
                print(f"{options.registry} {name} {older} {newer} ? {' '.join(extras)}  # {found['changed_lines']} lines, {len(tests)} tests: {tests[0]}", flush=True)
                if options.first:
                    break


if __name__ == "__main__":
    main()
