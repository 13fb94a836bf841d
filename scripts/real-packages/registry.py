"""Downloads pinned source distributions from PyPI and npm, and makes an environment in which they run.

`registry.py LIST FOLDER` downloads and unpacks those of a list, each as `FOLDER/NAME`."""

import json
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

FRAMEWORKS = Path(__file__).resolve().parent.parent / "frameworks"
TEST_FOLDERS = {"test", "tests", "testing_tests", "__tests__", "spec", "specs"}
TEST_FILES = re.compile(
    r"(test_.*|.*_tests?|tests?|conftest)\.py|.*[.-](test|spec)\.[cm]?[jt]sx?|tests?\.[cm]?[jt]s"
)


def run(command, folder):
    done = subprocess.run(
        [str(word) for word in command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stdout[-2000:]}")
    return done.stdout


def download(registry, name, version, folder):
    """Downloads the source distribution and returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    if registry == "npm":
        file = run(["npm", "pack", "--silent", f"{name}@{version}"], folder).strip().splitlines()[-1]
        return folder / file
    run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", f"{name}=={version}"], folder)
    spelled = "[-_.]+".join(map(re.escape, re.split(r"[-_.]+", name)))
    for path in folder.iterdir():
        if re.fullmatch(rf"{spelled}-{re.escape(version)}\.(tar\.gz|zip)", path.name, re.IGNORECASE):
            return path
    raise RuntimeError(f"PyPI has no source distribution of {name} {version}")


def unpack(archive, project):
    """Unpacks an archive with one folder at its top as `project`."""
    scratch = project.with_name(project.name + ".unpacked")
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.rmtree(project, ignore_errors=True)
    if archive.suffix == ".zip":
        shutil.unpack_archive(archive, scratch)
    else:
        with tarfile.open(archive) as tar:
            tar.extractall(scratch, filter="data")
    (top,) = scratch.iterdir()
    top.rename(project)
    scratch.rmdir()


def make_environment(registry, project, extras):
    """Installs the package's dependencies and a test framework, as a person who works on it does."""
    if registry == "npm":
        package = json.loads((project / "package.json").read_text())
        pins = json.loads((FRAMEWORKS / "package.json").read_text())["devDependencies"]
        pins.pop("jest")
        # The package's own development tools are large, and nothing here runs them.
        package["devDependencies"] = pins | dict(word.rsplit("@", 1) for word in extras)
        package.pop("scripts", None)
        (project / "package.json").write_text(json.dumps(package, indent=2) + "\n")
        options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--legacy-peer-deps"]
        run(["npm", "install", *options], project)
        return
    run([sys.executable, "-m", "venv", "--without-pip", ".venv"], project)
    pip = [sys.executable, "-m", "pip", "--python", ".venv/bin/python", "install", "--quiet", "--no-compile"]
    run([*pip, "-r", FRAMEWORKS / "requirements.txt", *extras], project)
    run([*pip, "-e", "."], project)


def remove_tests(project):
    """Removes the package's own tests. Returns how many files there were."""
    removed = 0
    for path in sorted(project.rglob("*"), reverse=True):
        inner = path.relative_to(project).parts
        if inner[0] in (".venv", "node_modules", ".workflow") or not path.is_file():
            continue
        if TEST_FOLDERS.intersection(inner[:-1]) or TEST_FILES.fullmatch(path.name):
            path.unlink()
            removed += path.suffix in {".py", ".js", ".cjs", ".mjs", ".ts", ".jsx", ".tsx"}
    return removed


def pinned(file):
    """The lines of a list of packages, as words."""
    lines = (line.partition("#")[0].split() for line in Path(file).read_text().splitlines())
    return [words for words in lines if words]


def main(packages, folder):
    for source, name, version, *_ in pinned(packages):
        unpack(download(source, name, version, Path(folder, "archives")), Path(folder, name))


if __name__ == "__main__":
    main(*sys.argv[1:])
