"""Measures `wavecrew diff` on pairs of releases and on pairs of equal behaviour. Started by scripts/diff-scoreboard.sh."""

import argparse
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import equal
import page
import releases

HERE = Path(__file__).resolve().parent
# Wall time beyond the budget after which a run counts as failed.
GRACE = 240


def run_diff(program, project, budget, *words):
    """One run. Returns what it printed as JSON, or why it printed none, its exit code and how long it took."""
    started = time.monotonic()
    command = [program, "-C", project, "diff", "HEAD~1", "--json", "--budget", f"{budget}s", *words]
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, errors = process.communicate(timeout=budget + GRACE)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate()
        errors += "\nnot done in time"
    seconds = round(time.monotonic() - started, 1)
    try:
        return json.loads(out), process.returncode, seconds, ""
    except ValueError:
        return None, process.returncode, seconds, (errors.strip() or out.strip())[-400:]


def processor_seconds():
    """Processor time of all processes that ended until now."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def changed_files(project):
    """Files that a run added or changed."""
    printed = releases.git(project, "status", "--porcelain", "--untracked-files=all")
    return [line[3:] for line in printed.splitlines()]


def telling_tests(pair, written):
    """The written tests that fail on the older source and pass on the newer one, run by the framework itself."""
    outcomes = []
    older = pair.folder / "older"
    releases.copy_release(releases.fetch(pair, pair.older), older, pair.extras, pair.registry)
    if pair.registry == "npm" and not (older / "node_modules").exists():
        (older / "node_modules").symlink_to(pair.project / "node_modules")
    for folder in (older, pair.after):
        for file in written:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(pair.project / file, folder / file)
        outcomes.append(releases.run_tests(pair, folder, chosen=written))
        for file in written:
            (folder / file).unlink()
    before, after = outcomes
    # An error instead of a failure means that the file or a name in it could not be loaded.
    return sorted(test for test, outcome in after.items() if outcome == "passed" and before.get(test) == "failed")


def measure_once(program, pair, branch, budget, log):
    releases.git(pair.project, "checkout", "-q", "-f", branch)
    releases.git(pair.project, "clean", "-q", "-f", "-d")
    load = round(os.getloadavg()[0], 1)
    before = processor_seconds()
    printed, code, seconds, problem = run_diff(program, pair.project, budget, "--write-tests")
    processor = round(processor_seconds() - before, 1)
    log.write_text(json.dumps(printed, indent=2) + "\n" if printed else problem + "\n")
    if printed is None:
        return {"exit": code, "seconds": seconds, "problem": problem}
    written = [entry["file"] for entry in printed.get("written", [])]
    other = [file for file in changed_files(pair.project) if file not in written]
    figures = {
        "exit": code,
        "seconds": seconds,
        "processor": processor,
        "load": load,
        "budget": budget,
        "differences": len(printed["differences"]),
        "interface": len(printed.get("interface", [])),
        "changed_lines": printed.get("changed_lines"),
        "calls": printed.get("calls"),
        "written": written,
        "notes": printed.get("notes", [])[:5],
        "telling": telling_tests(pair, written) if written else [],
    }
    if other:
        figures["touched"] = other
    kept = log.with_suffix("")
    shutil.rmtree(kept, ignore_errors=True)
    for file in written:
        (kept / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(pair.project / file, kept / file)
    releases.git(pair.project, "clean", "-q", "-f", "-d")
    releases.git(pair.project, "checkout", "-q", "-f", "visible")
    return figures


def measure_pair(program, pair, budget, again):
    file = pair.folder / "result.json"
    if file.exists() and not again and json.loads(file.read_text()).get("complete"):
        return json.loads(file.read_text())
    result = {"registry": pair.registry, "name": pair.name, "older": pair.older, "newer": pair.newer, "set": pair.set}
    try:
        releases.prepare(pair)
        proof = releases.prove(pair)
    except (RuntimeError, OSError) as error:
        result["error"] = str(error)[-400:]
        pair.folder.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(result, indent=2) + "\n")
        return result
    result |= {"proof": len(proof["fail_on_older"]), "changed": proof["changed_lines"]}
    for branch in ("visible", "hidden"):
        result[branch] = measure_once(program, pair, branch, budget, pair.folder / f"{branch}.json")
    result["complete"] = True
    file.write_text(json.dumps(result, indent=2) + "\n")
    return result


def shown(result):
    if "error" in result:
        return f"error: {result['error'].splitlines()[-1][:120]}"
    parts = []
    for branch in ("visible", "hidden"):
        run = result[branch]
        if "problem" in run:
            parts.append(f"{branch}: no result (exit {run['exit']}): {run['problem'].splitlines()[-1][:100] if run['problem'] else ''}")
        else:
            lines = run["changed_lines"] or {}
            parts.append(f"{branch}: {run['differences']} differences, {len(run['telling'])} telling tests, {lines.get('reached')}/{lines.get('total')} lines, {run['seconds']} s")
    return "; ".join(parts)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("program")
    arguments.add_argument("home", type=Path)
    arguments.add_argument("--set", choices=["tuning", "reported"])
    arguments.add_argument("--prepare", action="store_true", help="only fetch and prove the pairs")
    arguments.add_argument("--equal", type=int, metavar="COUNT", help="measure this many pairs of equal behaviour instead")
    arguments.add_argument("--forced", action="store_true", help="with --equal: run also what is recognised by its text")
    arguments.add_argument("--jobs", type=int, default=1, metavar="COUNT", help="with --equal: measure pairs of this many packages at once")
    arguments.add_argument("--table", action="store_true", help="only write the page from existing results")
    arguments.add_argument("--again", action="store_true", help="measure pairs that have a result too")
    arguments.add_argument("--budget", type=int, help="seconds for each run (default: 60; with --equal: 20)")
    arguments.add_argument("--output", type=Path, default=HERE / "../../docs/reference/behaviour-diff-scoreboard.md")
    arguments.add_argument("names", nargs="*", help="packages, or pairs such as cachetools-7.3.0-7.3.1")
    options = arguments.parse_intermixed_args()
    every = releases.read_list(HERE / "pairs.txt", options.home)
    wanted = [
        pair
        for pair in every
        if options.set in (None, pair.set) and (not options.names or pair.name in options.names or pair.id.split("-", 1)[1] in options.names)
    ]
    if options.equal is not None:
        equal.measure(options.program, options.home, wanted, options.equal, run_diff, options.forced, options.budget or 20, options.jobs)
    elif not options.table:
        for number, pair in enumerate(wanted, 1):
            print(f"{number}/{len(wanted)} {pair.id}", flush=True)
            if options.prepare:
                try:
                    releases.prepare(pair)
                    proof = releases.prove(pair)
                    print(f"  {len(proof['fail_on_older'])} of {proof['passed']} tests fail on the older source", flush=True)
                except (RuntimeError, OSError) as error:
                    print(f"  {error}", file=sys.stderr)
            else:
                print(f"  {shown(measure_pair(options.program, pair, options.budget or 60, options.again))}", flush=True)
    if not options.prepare:
        page.write(options.home, every, options.output)


if __name__ == "__main__":
    main()
