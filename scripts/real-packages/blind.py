"""Mixes kept tests of measured packages with the packages' own tests, in random order, to be rated without knowing which is which.

    python3 scripts/real-packages/blind.py HOME SHEET KEY [--generated 100] [--own 50] [--seed 1]

SHEET has the numbered tests; KEY says which were generated. HOME is the folder that scripts/real-packages.sh measures in."""

import argparse
import ast
import json
import random
import re
import tarfile
from pathlib import Path

# Tests that are longer say by their length where they come from.
MOST_LINES = 25
JAVASCRIPT_TEST = re.compile(r"^( *)(?:it|test)\(.*?^\1\}\);$", re.MULTILINE | re.DOTALL)


def python_tests(text):
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return []
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            first = min([node.lineno] + [decorator.lineno for decorator in node.decorator_list])
            found.append("\n".join(text.splitlines()[first - 1 : node.end_lineno]))
    return found


def tests_in(name, text):
    if name.endswith(".py"):
        return python_tests(text)
    return [match[0] for match in JAVASCRIPT_TEST.finditer(text)]


def generated(folder):
    for file in sorted(folder.glob("*/.csv-wave/*/results/kept/L1/**/*.*")):
        if not file.name.startswith("quarantine"):
            yield from tests_in(file.name, file.read_text())


def own(folder):
    for archive in folder.glob("archive/*.t*gz"):
        with tarfile.open(archive) as tar:
            for member in tar:
                if member.isfile() and re.search(r"test[^/]*\.(py|js|ts)$", member.name):
                    yield from tests_in(member.name, tar.extractfile(member).read().decode("utf-8", "replace"))


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("home", type=Path)
    arguments.add_argument("sheet", type=Path)
    arguments.add_argument("key", type=Path)
    arguments.add_argument("--generated", type=int, default=100)
    arguments.add_argument("--own", type=int, default=50)
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    chance = random.Random(options.seed)
    tests = []
    for kind, collect, count in (("generated", generated, options.generated), ("own", own, options.own)):
        # The same number from each package, so that large ones do not dominate.
        by_package = []
        for folder in sorted(options.home.iterdir()):
            short = sorted({text for text in collect(folder) if text.count("\n") < MOST_LINES})
            if short:
                by_package.append([(folder.name, text) for text in chance.sample(short, len(short))])
        turns = [test for turn in range(count) for package in by_package for test in package[turn : turn + 1]]
        tests += [(kind, *test) for test in turns[:count]]
    chance.shuffle(tests)
    with options.sheet.open("w") as sheet:
        for number, (_, package, text) in enumerate(tests, 1):
            sheet.write(f"### {number} {package}\n{text}\n\n")
    options.key.write_text(json.dumps([[kind, package] for kind, package, _ in tests]) + "\n")


if __name__ == "__main__":
    main()
