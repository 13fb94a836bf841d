#!/usr/bin/env python3
"""A stand-in for a coding agent: gives prepared answers.

    agent.py ANSWERS

ANSWERS is a folder beside this file. Its folder 1 holds what is answered at first, 2 what is answered when the layer was
measured once and sent back, and so on, by task: `1/TESTGEN-001/test_price.py` lands in the folder of that task's layer. What
lies in a folder of the task's own name lands in the session under the same path.
"""

import json
import os
import pathlib
import shutil
import sys

LAYERS = {"001": "tests/L1-unit", "002": "tests/L2-integration", "003": "tests/L3-e2e"}


def copy(source, target):
    for path in sorted(source.rglob("*")):
        if path.is_file():
            place = target / path.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
            yield place


def rounds(session, layer):
    """How often the layer's tests were sent back."""
    state = json.loads((session / "gc-state.json").read_text())
    return state["rounds"].get(pathlib.Path(layer).name[:2], 0)


def main():
    answers = pathlib.Path(__file__).resolve().parent / sys.argv[1]
    sys.stdin.read()
    session = pathlib.Path(os.environ["WAVECREW_SESSION_DIR"])
    task = os.environ["WAVECREW_TASK"]
    written = list(copy(answers / task, session))
    if task.startswith("TESTGEN-"):
        layer = LAYERS[task.rsplit("-", 1)[1]]
        written += copy(answers / str(1 + rounds(session, layer)) / task, session / layer)
    report = {"id": task, "status": "completed", "findings": f"{len(written)} files written"}
    if task.startswith("TESTGEN-"):
        report["test_files"] = ";".join(str(path.relative_to(session)) for path in written)
    print(json.dumps(report))


main()
