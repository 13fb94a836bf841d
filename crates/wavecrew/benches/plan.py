"""Plans a table with Python's own tools: csv to read, graphlib to sort. Prints the number of waves."""

import csv
import graphlib
import sys


def main(path):
    csv.field_size_limit(8 << 20)
    deps = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["id"] in deps:
                raise SystemExit(f"Duplicate task ID: {row['id']}")
            if not row["description"].strip():
                raise SystemExit(f"Empty description for task: {row['id']}")
            if row["exec_mode"] not in ("csv-wave", "interactive"):
                raise SystemExit(f"Invalid exec_mode: {row['exec_mode']}")
            deps[row["id"]] = [dep.strip() for dep in row["deps"].split(";") if dep.strip()]
    for names in deps.values():
        for name in names:
            if name not in deps:
                raise SystemExit(f"Unknown dependency: {name}")
    sorter = graphlib.TopologicalSorter(deps)
    sorter.prepare()
    waves = 0
    while sorter.is_active():
        ready = sorter.get_ready()
        sorter.done(*ready)
        waves += 1
    print(waves)


main(sys.argv[1])
