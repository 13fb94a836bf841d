"""Entry: `python wavecrew_testgen REQUEST.json`, `... --worker REQUEST.json` for the sandboxed
child, or `... --suite REQUEST.json` for one that runs tests of the project."""
import os
import sys

sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

if __name__ == "__main__":
    if sys.argv[1] == "--worker":
        from wavecrew_testgen import worker

        worker.main(sys.argv[2])
    elif sys.argv[1] == "--suite":
        from wavecrew_testgen import suite_run

        suite_run.main(sys.argv[2])
    else:
        from wavecrew_testgen import driver

        driver.main(sys.argv[1])
