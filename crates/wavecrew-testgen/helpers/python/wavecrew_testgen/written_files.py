"""Files that a call wrote: asserted by tests, and removed before the next call."""
import os
import pathlib
import shutil

MAX_FILES = 2
MAX_TEXT = 300
SHARED = "shared"  # for files of fixtures that outlive a call


def facts(written, args):
    """Facts about written files. `written` are paths as they were opened, `args` are keys and values of arguments.

    `@cwd` means that the call writes to the current folder, so its test needs a temporary one.
    """
    found, shown = [], set()
    for key, value in args:
        if isinstance(value, pathlib.PurePath) and str(value) in written:
            shown.add(str(value))
            found.extend(_content("@%s.read_text()" % key, str(value)))
    relative = [path for path in dict.fromkeys(written) if not os.path.isabs(path)]
    if relative:
        found.append(("@cwd", "in", "tmp_path"))
    for path in [path for path in relative if path not in shown][:MAX_FILES]:
        found.extend(_content("@pathlib.Path(%r).read_text()" % path, path))
    return found


def _content(place, path):
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(MAX_TEXT + 1)
    except (OSError, ValueError):
        return []
    return [(place, "==", repr(text))] if len(text) <= MAX_TEXT else []


def clear(folder):
    """Empties the folder that calls run in, and changes back to it."""
    os.chdir(folder)
    for name in os.listdir(folder):
        if name == SHARED:
            continue
        path = os.path.join(folder, name)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.remove(path)
