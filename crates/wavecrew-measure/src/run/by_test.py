"""Runs pytest so that coverage.py keeps apart what each test runs, and what is run while each file is loaded.

    python -m coverage run --branch by_test.py OUT ARGUMENTS...   run it; the names of the tests go to OUT
    python by_test.py --tell OUT                                  put what was seen beside them
"""

import json
import os
import sys

import coverage
import pytest


class ByTest:
    def __init__(self):
        self.tests = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        self.tests.append(item.nodeid)
        switch(item.nodeid)

    def pytest_runtest_logfinish(self, nodeid, location):
        switch("")

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectstart(self, collector):
        if isinstance(collector, pytest.File):
            switch(collector.nodeid)

    def pytest_collectreport(self, report):
        switch("")


def switch(name):
    running = coverage.Coverage.current()
    if running is not None:
        running.switch_context(name)


def run(out, args):
    by_test = ByTest()
    # As `python -m pytest` has it.
    sys.path[0] = os.getcwd()
    sys.argv = ["pytest"] + args
    code = pytest.main(args, plugins=[by_test])
    with open(out, "w", encoding="utf-8") as file:
        json.dump(by_test.tests, file)
    return int(code)


def tell(out):
    with open(out, encoding="utf-8") as file:
        tests = json.load(file)
    data = coverage.CoverageData(basename=os.environ["COVERAGE_FILE"])
    data.read()
    arcs = {}
    for context in data.measured_contexts():
        if not context:
            continue
        data.set_query_context(context)
        seen = {path: data.arcs(path) for path in data.measured_files()}
        arcs[context] = {path: found for path, found in seen.items() if found}
    with open(out, "w", encoding="utf-8") as file:
        json.dump({"tests": tests, "arcs": arcs}, file)


if sys.argv[1] == "--tell":
    tell(sys.argv[2])
else:
    sys.exit(run(sys.argv[1], sys.argv[2:]))
