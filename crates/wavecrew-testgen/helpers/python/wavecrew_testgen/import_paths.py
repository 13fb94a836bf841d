"""How tests import a module of the project."""
import os
import re

SETTINGS = ("pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
# A folder with one of these is the root of a project, and no package, even if it has an `__init__.py`.
ROOT_FILES = ("pyproject.toml", "setup.cfg", "setup.py")
PATHS = re.compile(r"""^\s*pythonpath\s*=\s*(\[[^\]]*\]|"[^"]*"|'[^']*'|[^\n]*)""", re.MULTILINE)


def module_name_and_folder(path):
    """The dotted name of a file, and the folder that has to be in `sys.path` for it."""
    folder, name = os.path.split(path)
    parts = [] if name == "__init__.py" and is_package(folder) else [name[:-3]]
    while is_package(folder):
        folder, package = os.path.split(folder)
        parts.insert(0, package)
    return ".".join(parts), folder


def is_package(folder):
    has = lambda name: os.path.exists(os.path.join(folder, name))
    return has("__init__.py") and os.path.basename(folder).isidentifier() and not any(map(has, ROOT_FILES))


def import_folders(root, sys_path):
    """Folders in which the project's tests find modules: from its settings, and the usual ones."""
    root = os.path.abspath(root)
    found = list(sys_path)
    for name in SETTINGS:
        try:
            with open(os.path.join(root, name), encoding="utf-8") as file:
                text = file.read()
        except (OSError, ValueError):
            continue
        for listed in PATHS.findall(text):
            found += [os.path.normpath(os.path.join(root, folder)) for folder in re.findall(r"[^\s,\[\]\"']+", listed)]
    return found + [os.path.join(root, "src"), root]


def import_candidates(path, root, sys_path):
    """Names of a module with the folders they are found in, the likeliest first.

    A folder without `__init__.py` is a package too when it is below a folder in `sys.path`.
    """
    name, folder = module_name_and_folder(path)
    known = import_folders(root, sys_path)
    if folder in known:
        return [(name, folder)]
    for outer in sorted(known, key=len, reverse=True):
        inside = os.path.relpath(folder, outer)
        parts = inside.split(os.sep)
        if parts[0] != os.pardir and all(part.isidentifier() for part in parts):
            return [(".".join(parts + [name]), outer), (name, folder)]
    return [(name, folder)]
