"""What a call wrote: shown by the tests, and cleared away before the next call."""
import os
import pathlib
import shutil

MOST_FILES = 2
MOST_TEXT = 300
SHARED = "shared"  # where fixtures that outlive a call have their files


def facts(written, args):
    """Facts about files. `written` are paths as they were opened, `args` are keys and values of arguments.

    `@cwd` says that the call writes where it is run, so that its test has to run in a folder of its own.
    """
    found, shown = [], set()
    for key, value in args:
        if isinstance(value, pathlib.PurePath) and str(value) in written:
            shown.add(str(value))
            found.extend(_content("@%s.read_text()" % key, str(value)))
    relative = [path for path in dict.fromkeys(written) if not os.path.isabs(path)]
    if relative:
        found.append(("@cwd", "in", "tmp_path"))
    for path in [path for path in relative if path not in shown][:MOST_FILES]:
        found.extend(_content("@pathlib.Path(%r).read_text()" % path, path))
    return found


def _content(place, path):
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(MOST_TEXT + 1)
    except (OSError, ValueError):
        return []
    return [(place, "==", repr(text))] if len(text) <= MOST_TEXT else []


def clear(folder):
    """Empties the folder that calls are run in, and goes back to it."""
    os.chdir(folder)
    for name in os.listdir(folder):
        if name == SHARED:
            continue
        path = os.path.join(folder, name)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.remove(path)
