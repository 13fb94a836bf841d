"""The files that a module's tests are written to: their names, their earlier rounds, and how they appear at once."""
import ast
import os
import re
import tempfile

SKIPPED_FOLDERS = ("node_modules", "site-packages", "venv", "build", "dist", "__pycache__")
MAX_FILES = 500
ABOUT = "Records how %s behaves"


def publish(folder, name_of, text):
    """Writes a new file, complete from the moment it appears. `name_of` is called with 1, 2, ... until a name is free."""
    os.makedirs(folder, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=".", suffix=".partial", dir=folder)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(temporary, 0o644)
        number = 1
        while True:
            path = os.path.join(folder, name_of(number))
            try:
                os.link(temporary, path)  # unlike a rename, fails if the file exists
                return path
            except FileExistsError:
                number += 1
    finally:
        os.remove(temporary)


class TestFiles:
    """The test files of one module in a folder."""

    def __init__(self, folder, module, root):
        self.folder = folder
        self.module = module
        self.of_project = _test_files_of(root)
        suffixed = sum(1 for path in self.of_project if path.endswith("_test.py"))
        self.shape = "%s_behaviour%s_test.py" if suffixed > len(self.of_project) - suffixed else "test_%s_behaviour%s.py"

    def name(self, number=1):
        """The name of a file. A module whose short name is taken by another one gets a longer one."""
        words = self.module.split(".")
        short = next((word for count, word in self._words(words) if not self._is_of_another_module(word)), "_".join(words))
        return self.shape % (short, "_%d" % number if number > 1 else "")

    def _words(self, words):
        return [(count, "_".join(words[-count:])) for count in range(1, len(words) + 1)]

    def _is_of_another_module(self, word):
        text = read(os.path.join(self.folder, self.shape % (word, "")))
        return text is not None and (ABOUT % self.module) + " " not in text.partition("\n")[0] + " "

    def known_tests(self):
        """Names of the tests in the files of earlier rounds, with the ids of parametrised ones."""
        found, number = set(), 1
        while True:
            text = read(os.path.join(self.folder, self.name(number)))
            if text is None:
                return found
            found.update(_tests_in(text))
            number += 1


def _tests_in(text):
    try:
        functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    except SyntaxError:
        return
    for function in functions:
        ids = [
            word.value.value for decorator in function.decorator_list for call in ast.walk(decorator)
            if isinstance(call, ast.Call) for word in call.keywords if word.arg == "id" and isinstance(word.value, ast.Constant)]
        yield function.name
        for word in ids:
            yield "%s[%s]" % (function.name, word)


def read(path):
    """The text of a file, or None."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError):
        return None


def is_named(test, names):
    """Whether a test is among names of tests, as a whole table or with its id. Numbers at the end do not matter."""
    base = test.partition("[")[0]
    return any(name in names for name in (test, base, re.sub(r"_\d+$", "", base)))


def _test_files_of(root):
    """The test files of the project, as far as they are needed to see its habits."""
    found = []
    for folder, folders, files in os.walk(os.path.abspath(root)):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in SKIPPED_FOLDERS)[:200]
        found += [
            os.path.join(folder, name) for name in sorted(files)
            if name.endswith("_test.py") or name.startswith("test_") and name.endswith(".py")]
        if len(found) > MAX_FILES:
            break
    return found
