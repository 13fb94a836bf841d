"""Where a module lies in its project, and so what tests import it as."""
import os
import re

from .names import place

SETTINGS = ("pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
PATHS = re.compile(r"""^\s*pythonpath\s*=\s*(\[[^\]]*\]|"[^"]*"|'[^']*'|[^\n]*)""", re.MULTILINE)


def import_folders(root, sys_path):
    """Folders that the project's tests find modules in, as its settings say and as is usual."""
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


def places(path, root, sys_path):
    """Names of a module with the folders they are found in, the likeliest first.

    A folder without `__init__.py` is a package as well where it lies below one that modules are found in.
    """
    name, folder = place(path)
    known = import_folders(root, sys_path)
    if folder in known:
        return [(name, folder)]
    for outer in sorted(known, key=len, reverse=True):
        inside = os.path.relpath(folder, outer)
        parts = inside.split(os.sep)
        if parts[0] != os.pardir and all(part.isidentifier() for part in parts):
            return [(".".join(parts + [name]), outer), (name, folder)]
    return [(name, folder)]
