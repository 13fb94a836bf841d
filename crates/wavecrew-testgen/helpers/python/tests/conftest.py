"""Makes the helper importable, and provides a fixture that runs it on a piece of source."""
import json
import os
import subprocess
import sys

import pytest

HELPERS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, HELPERS)
FULL_DEPTH = os.environ.get("WAVECREW_TEST_DEPTH") == "full"


@pytest.fixture
def generate(tmp_path):
    """Writes a module and generates tests for it. Returns the outcome and the text of the tests."""

    def run(source, name="sample", budget=1.0, python=sys.executable, **more):
        project = tmp_path / "project"
        project.mkdir(exist_ok=True)
        file = project / (name + ".py")
        file.write_bytes(source if isinstance(source, bytes) else source.encode())
        request = dict(
            {"root": str(project), "file": str(file), "out": str(tmp_path / "out"), "seed": 1, "budget": budget}, **more)
        path = tmp_path / "request.json"
        path.write_text(json.dumps(request))
        ran = subprocess.run(
            [python, "-B", os.path.join(HELPERS, "wavecrew_testgen"), str(path)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=280)
        lines = ran.stdout.decode().splitlines()
        assert lines, ran.stderr.decode()
        outcome = json.loads(lines[-1])["outcome"]
        text = ""
        for written in outcome["written"]:
            with open(written["path"], encoding="utf-8") as file:
                text += file.read()
        return outcome, text

    return run
