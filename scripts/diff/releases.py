"""Two neighbouring releases of a package as one git repository, an environment in which its tests run, and the proof that
behaviour changed: tests of the newer release that fail on the older source and pass on the newer one."""

import difflib
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "real-packages"))
import registry  # noqa: E402

CODE = {".py", ".js", ".cjs", ".mjs", ".ts", ".jsx", ".tsx"}
NOT_SOURCE = {"doc", "docs", "example", "examples", "benchmark", "benchmarks", "bench", "node_modules", ".venv", "scripts", "tools", ".github"}
LONGEST_TEST_RUN = 240
# Tests of these names compare the number of the release, which is no behaviour.
VERSION_TEST = re.compile(r"version", re.IGNORECASE)


class Pair:
    """A line of the list, and where its files are."""

    def __init__(self, home, source, name, older, newer, group, extras):
        self.home, self.registry, self.name, self.older, self.newer = home, source, name, older, newer
        self.set, self.extras = group, extras
        self.id = f"{source}-{name.replace('/', '-').replace('@', '')}-{older}-{newer}"
        self.folder = home / "pairs" / self.id
        self.project = self.folder / "project"
        # For proofs: the older source with the tests of the newer release, and the newer release as it is.
        self.before, self.after = self.folder / "before", self.folder / "after"

    @property
    def proof_file(self):
        return self.folder / "proof.json"

    def proof(self):
        return json.loads(self.proof_file.read_text()) if self.proof_file.exists() else None


def read_list(file, home):
    return [Pair(home, *words[:5], words[5:]) for words in registry.pinned(file)]


def git(folder, *words):
    # No settings of the person who runs this.
    environment = os.environ | {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    who = ["-c", "user.name=scoreboard", "-c", "user.email=scoreboard@localhost", "-c", "core.autocrlf=false"]
    done = subprocess.run(["git", *who, *words], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode != 0:
        raise RuntimeError(f"git {' '.join(words)}: {done.stdout[-500:]}")
    return done.stdout


def is_test(inner):
    return bool(registry.TEST_FOLDERS.intersection(inner.parts[:-1]) or registry.TEST_FILES.fullmatch(inner.name))


def files(folder):
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder)
        if path.is_file() and not path.is_symlink() and inner.parts[0] not in (".git", ".venv", "node_modules"):
            yield inner


def is_source(inner):
    return inner.suffix in CODE and not is_test(inner) and not NOT_SOURCE.intersection(inner.parts) and inner.name not in ("setup.py", "conftest.py")


def changed_lines(older, newer):
    """How many lines of code the newer release has that the older one has not, or the reverse."""
    count = 0
    texts = []
    for folder in (older, newer):
        texts.append({inner: (folder / inner).read_text(errors="replace").splitlines() for inner in files(folder) if is_source(inner)})
    for inner in texts[0].keys() | texts[1].keys():
        lines = [text.get(inner, []) for text in texts]
        if lines[0] != lines[1]:
            count += sum(line[0] in "+-" for line in list(difflib.unified_diff(*lines, n=0))[2:])
    return count


def fetch(pair, version):
    """The unpacked source distribution of a release. Each is fetched once."""
    folder = pair.home / "releases" / f"{pair.registry}-{pair.name.replace('/', '-')}-{version}"
    if not folder.exists():
        archive = registry.download(pair.registry, pair.name, version, pair.home / "archives")
        registry.unpack(archive, folder)
    return folder


def own_package_json(folder, extras):
    """Reduces the development dependencies to the frameworks that are used here."""
    file = folder / "package.json"
    package = json.loads(file.read_text())
    pins = json.loads((registry.FRAMEWORKS / "package.json").read_text())["devDependencies"]
    package["devDependencies"] = {"vitest": pins["vitest"]} | dict(word.rsplit("@", 1) for word in extras)
    for key in ("scripts", "jest", "nyc", "ava", "tap", "husky", "auto-changelog", "publishConfig"):
        package.pop(key, None)
    file.write_text(json.dumps(package, indent=2) + "\n")


def copy_release(source, target, extras, kind, tests_from=None):
    """Replaces the files of `target` by those of a release, with the tests of another one if given."""
    target.mkdir(parents=True, exist_ok=True)
    for inner in list(files(target)):
        (target / inner).unlink()
    chosen = {inner: source for inner in files(source) if tests_from is None or not is_test(inner)}
    if tests_from:
        chosen |= {inner: tests_from for inner in files(tests_from) if is_test(inner)}
    for inner, folder in chosen.items():
        # Metadata of the build changes with every release.
        if any(part.endswith(".egg-info") for part in inner.parts):
            continue
        (target / inner).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / inner, target / inner)
    if kind == "npm":
        own_package_json(target, extras)


def make_repository(pair, older, newer):
    """Branch `visible` has the releases as they are; on `hidden`, the newer one still has the tests of the older one."""
    shutil.rmtree(pair.project, ignore_errors=True)
    pair.project.mkdir(parents=True)
    git(pair.project, "init", "-q", "-b", "visible")
    (pair.project / ".git/info/exclude").write_text(".venv/\nnode_modules/\n*.egg-info/\n__pycache__/\n.workflow/\npackage-lock.json\n.pytest_cache/\n")
    copy_release(older, pair.project, pair.extras, pair.registry)
    git(pair.project, "add", "-A", "-f", ".")
    git(pair.project, "commit", "-q", "-m", f"{pair.name} {pair.older}")
    git(pair.project, "checkout", "-q", "-b", "hidden")
    copy_release(newer, pair.project, pair.extras, pair.registry, tests_from=older)
    git(pair.project, "add", "-A", "-f", ".")
    git(pair.project, "commit", "-q", "--allow-empty", "-m", f"{pair.name} {pair.newer}, tests of {pair.older}")
    git(pair.project, "checkout", "-q", "visible")
    copy_release(newer, pair.project, pair.extras, pair.registry)
    git(pair.project, "add", "-A", "-f", ".")
    git(pair.project, "commit", "-q", "-m", f"{pair.name} {pair.newer}")


def make_environment(pair):
    if pair.registry == "npm":
        # The frameworks are the same everywhere: npm only adds what is missing.
        others = (found for found in sorted(pair.home.glob("pairs/npm-*/project/node_modules")) if (found.parents[1] / "ready").exists())
        other = next(others, None)
        if other and not (pair.project / "node_modules").exists():
            shutil.copytree(other, pair.project / "node_modules", symlinks=True)
        options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--legacy-peer-deps", "--prefer-offline"]
        registry.run(["npm", "install", *options], pair.project)
    else:
        registry.make_environment(pair.registry, pair.project, pair.extras)


def prepare(pair, environment=True):
    """Repository, environment and folders for proofs, unless they exist."""
    if (pair.folder / "ready").exists():
        return
    older, newer = fetch(pair, pair.older), fetch(pair, pair.newer)
    make_repository(pair, older, newer)
    copy_release(older, pair.before, pair.extras, pair.registry, tests_from=newer)
    copy_release(newer, pair.after, pair.extras, pair.registry)
    make_environment(pair)
    if pair.registry == "npm":
        for folder in (pair.before, pair.after):
            (folder / "node_modules").unlink(missing_ok=True)
            (folder / "node_modules").symlink_to(pair.project / "node_modules")
    (pair.folder / "ready").touch()


def run_tests(pair, folder, chosen=None, python=None):
    """Runs tests of a folder with its source. Returns the outcome by test."""
    if pair.registry == "npm":
        return run_javascript_tests(folder, chosen)
    return run_python_tests(folder, chosen, python or pair.project / ".venv/bin/python")


def environment_of(folder):
    search = [str(path) for path in (folder / "src", folder / "lib", folder) if path.is_dir()]
    kept = {key: value for key, value in os.environ.items() if key in ("PATH", "HOME", "LANG", "TMPDIR")}
    return kept | {"PYTHONPATH": os.pathsep.join(search), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0", "NO_COLOR": "1", "CI": "1"}


def run_python_tests(folder, chosen, python):
    report = folder.parent / f"{folder.name}-junit.xml"
    report.unlink(missing_ok=True)
    tests = chosen or sorted(str(inner) for inner in files(folder) if is_test(inner) and re.match(r"test.*\.py$|.*_tests?\.py$", inner.name))
    # A file that cannot be loaded with the older source must not hide the tests of others.
    options = ["-q", "-p", "no:cacheprovider", "-o", "addopts=", "--continue-on-collection-errors", f"--junitxml={report}"]
    command = [python, "-m", "pytest", *options, *tests]
    try:
        subprocess.run(command, cwd=folder, env=environment_of(folder), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LONGEST_TEST_RUN)
    except subprocess.TimeoutExpired:
        return {}
    outcomes = {}
    if report.exists():
        for case in xml.etree.ElementTree.parse(report).iter("testcase"):
            kinds = {child.tag for child in case}
            outcome = "skipped" if "skipped" in kinds else "error" if "error" in kinds else "failed" if "failure" in kinds else "passed"
            outcomes[f"{case.get('classname')}::{case.get('name')}"] = outcome
    return outcomes


def run_javascript_tests(folder, chosen):
    """Each test file in a process of its own. Understands mocha's JSON, and the TAP of tape and node:test."""
    outcomes = {}
    tests = chosen or sorted(str(inner) for inner in files(folder) if is_test(inner) and inner.suffix in CODE)
    for test in tests:
        text = (folder / test).read_text(errors="replace")
        if re.search(r"\bfrom ['\"]vitest['\"]", text):
            outcomes |= run_vitest(folder, test)
            continue
        mocha = (folder / "node_modules/mocha").exists() and re.search(r"\b(describe|it|suite)\(", text)
        command = ["node_modules/.bin/mocha", "--reporter", "json", test] if mocha else ["node", test]
        try:
            done = subprocess.run(command, cwd=folder, env=environment_of(folder), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=LONGEST_TEST_RUN)
        except subprocess.TimeoutExpired:
            continue
        if mocha:
            outcomes |= mocha_outcomes(test, done.stdout)
        else:
            outcomes |= tap_outcomes(test, done.stdout)
            outcomes[test] = "passed" if done.returncode == 0 else "failed"
    return outcomes


def run_vitest(folder, test):
    report = folder.parent / f"{folder.name}-vitest.json"
    report.unlink(missing_ok=True)
    command = ["node_modules/.bin/vitest", "run", test, "--reporter=json", f"--outputFile={report}"]
    try:
        subprocess.run(command, cwd=folder, env=environment_of(folder), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LONGEST_TEST_RUN)
    except subprocess.TimeoutExpired:
        return {}
    if not report.exists():
        return {}
    found = {}
    for file in json.loads(report.read_text())["testResults"]:
        for case in file["assertionResults"]:
            found[f"{test}::{case['fullName']}"] = case["status"]
    return found


def mocha_outcomes(test, printed):
    start = printed.find("{\n")
    try:
        report = json.JSONDecoder().raw_decode(printed[start:])[0]
    except ValueError:
        return {}
    outcomes = {}
    for key, outcome in (("passes", "passed"), ("failures", "failed")):
        outcomes |= {f"{test}::{case['fullTitle']}": outcome for case in report[key]}
    return outcomes


def tap_outcomes(test, printed):
    outcomes, group = {}, ""
    for line in printed.splitlines():
        if line.startswith("# ") and not re.match(r"# (tests|pass|fail|ok|suites|cancelled|skipped|todo|duration)", line):
            group = line[2:]
        found = re.match(r"\s*(not )?ok \d+ -? ?(.*)", line)
        if found:
            name = f"{test}::{group}::{found[2]}"
            if found[1] or outcomes.get(name) != "failed":
                outcomes[name] = "failed" if found[1] else "passed"
    return outcomes


def prove(pair):
    """Runs the newer tests on both sources. Keeps which ones tell them apart."""
    if pair.proof() is not None:
        return pair.proof()
    after, before = run_tests(pair, pair.after), run_tests(pair, pair.before)
    proof = compare(before, after) | {"changed_lines": changed_lines(pair.before, pair.after)}
    pair.proof_file.write_text(json.dumps(proof, indent=2) + "\n")
    return proof


def compare(before, after):
    passed = [test for test, outcome in after.items() if outcome == "passed"]
    telling = sorted(test for test in passed if before.get(test) in ("failed", "error") and not VERSION_TEST.search(test))
    # A file that cannot be loaded with the older source reports none of its tests.
    missing = sum(test not in before for test in passed)
    return {"tests": len(after), "passed": len(passed), "fail_on_older": telling, "not_loaded_on_older": missing}
