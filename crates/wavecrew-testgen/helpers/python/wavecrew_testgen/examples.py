"""Calls that people wrote already: examples in docstrings, existing tests, and call sites in the project."""
import ast
import doctest
import inspect
import os
import re

from .cases import Case
from .type_hints import ANY, of_value
from .values import constants
from .variation import literal

MOST_FILES = 300
MOST_BYTES = 400000
MOST_CALLS = 60
MOST_TEXT = 200
SKIPPED = {"node_modules", "venv", ".venv", "site-packages", "__pycache__", "build", "dist", ".git", ".tox"}


class Harvest:
    """Cases found for the targets of a module, and constants of the files that use it."""

    def __init__(self, targets, names, module_name, fixtures=()):
        self.by_name = {}
        for target in targets:
            self.by_name.setdefault(target.name, []).append(target)
        self.names = names
        self.fixtures = fixtures
        self.module_name = module_name
        self.cases = []
        self.examples = []
        self.constants = []

    def docstrings(self, module, targets):
        texts = [inspect.getdoc(module) or ""]
        for target in targets:
            texts.append(inspect.getdoc(target.function) or "" if target.function is not None else "")
        for text in dict.fromkeys(texts):
            if ">>>" in text:
                self._examples(text)

    def _examples(self, text):
        try:
            examples = doctest.DocTestParser().get_examples(text)
        except ValueError:
            return
        known = {}
        for example in examples:
            self._source(example.source, known)
            if example.want and not any(option for option in example.options.values()):
                self.examples.append((example.source.strip(), example.want, dict(known)))

    def files(self, root, own_path, late):
        """Looks through the project for uses of this module, tests first."""
        found = []
        for folder, folders, files in os.walk(root):
            folders[:] = sorted(f for f in folders if f not in SKIPPED and not f.startswith("."))
            for name in sorted(files):
                if name.endswith(".py"):
                    found.append(os.path.join(folder, name))
            if len(found) > MOST_FILES * 4:
                break
        found.sort(key=lambda path: ("test" not in path.lower(), path))
        last = self.module_name.split(".")[-1]
        called = re.compile(r"\b(?:%s)\(" % "|".join(re.escape(name) for name in self.by_name))
        for path in found[:MOST_FILES]:
            if path == own_path or late():
                continue
            try:
                if os.path.getsize(path) > MOST_BYTES:
                    continue
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                if last not in text and self.module_name.split(".")[0] not in text or not called.search(text):
                    continue
                tree = ast.parse(text)
            except (OSError, SyntaxError, ValueError):
                continue
            known = {}
            for node in ast.walk(tree):
                if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                    segment = _segment(text, node.value)
                    if segment and len(segment) < 200:
                        known[node.targets[0].id] = segment
            self._calls(text, tree, known)
            if "test" in path.lower():
                self.constants.extend(constants(tree)[:300])
                self._parametrised(text, tree)

    def _source(self, source, known):
        try:
            tree = ast.parse(source)
        except SyntaxError:
            return
        self._calls(source, tree, known)
        for node in tree.body:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                value = self._resolve(_segment(source, node.value), known)
                if value is not None:
                    known[node.targets[0].id] = value
                elif isinstance(node.value, ast.Call):
                    segment = self._local(_segment(source, node.value))
                    if segment is not None:
                        known[node.targets[0].id] = segment

    def _calls(self, text, tree, known):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                self._call(text, node, known)

    def _call(self, text, node, known):
        function = node.func
        name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", None)
        targets = self.by_name.get(name)
        if not targets or any(isinstance(arg, ast.Starred) for arg in node.args):
            return
        args = []
        for arg in node.args:
            args.append((None, self._resolve(_segment(text, arg), known)))
        for keyword in node.keywords:
            if keyword.arg is None:
                return
            args.append((keyword.arg, self._resolve(_segment(text, keyword.value), known)))
        if any(source is None for _, source in args):
            return
        receiver = None
        if isinstance(function, ast.Attribute):
            receiver = self._resolve(_segment(text, function.value), known)
        for target in targets:
            if target.how in ("function", "class", "static"):
                self._keep(Case(target.key, args))
            elif target.how == "method" and receiver is not None:
                self._keep(Case(target.key, args, receiver))

    def _keep(self, case):
        if case not in self.cases and sum(1 for other in self.cases if other.target == case.target) < MOST_CALLS:
            self.cases.append(case)

    def _parametrised(self, text, tree):
        """Rows of `pytest.mark.parametrize`, tried as arguments of the functions that the test calls."""
        for node in ast.walk(tree):
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            rows = []
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and len(decorator.args) == 2 and "parametrize" in ast.dump(decorator.func):
                    rows.append((decorator.args[0], decorator.args[1]))
            for names, values in rows:
                try:
                    words = ast.literal_eval(names)
                except ValueError:
                    continue
                words = [w.strip() for w in words.split(",")] if isinstance(words, str) else list(words)
                for row in getattr(values, "elts", [])[:40]:
                    cells = row.elts if len(words) > 1 and isinstance(row, (ast.Tuple, ast.List)) else [row]
                    if isinstance(row, ast.Call):
                        cells = row.args
                    known = {}
                    for word, cell in zip(words, cells):
                        segment = _segment(text, cell)
                        if segment:
                            known[word] = segment
                    for statement in node.body:
                        self._calls(text, statement, known)

    def resolved(self, source, known):
        """An example as one expression that stands for itself, or nothing."""
        try:
            tree = ast.parse(source)
        except SyntaxError:
            return None
        if len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
            return None
        return self._resolve(source, known)

    def _resolve(self, segment, known):
        """The segment as an expression that stands for itself, or nothing."""
        for _ in range(3):
            if segment is None:
                return None
            segment = self._local(segment)
            try:
                tree = ast.parse(segment, mode="eval")
            except (SyntaxError, ValueError):
                return None
            free = _free_names(tree)
            unknown = [name for name in free if name not in self.names.namespace and not _is_builtin(name)
                       and (name in known or name not in self.fixtures)]
            if not unknown:
                segment = self._own_copies(segment, free)
                return " ".join(segment.split("\n")) if len(segment) <= MOST_TEXT else None
            if any(name not in known for name in unknown):
                return None
            segment = _put(segment, {name: known[name] for name in unknown})
        return None

    def _own_copies(self, segment, free):
        """Lists and the like of the module are handed over as copies: a call that changes one would change it for all."""
        copies = {}
        for name in free:
            value = self.names.namespace.get(name)
            if name in self.names.origin and isinstance(value, (list, dict, set, bytearray)):
                text = repr(value)
                copies[name] = text if len(text) <= MOST_TEXT // 2 and literal(text)[0] else "copy.deepcopy(%s)" % name
        return _put(segment, copies) if copies else segment

    def teach(self, targets, evaluate):
        """Parameters learn what kinds of values people pass for them."""
        for case in self.cases:
            target = targets.get(case.target)
            plain = [p for p in target.parameters if p.style == "plain"] if target is not None else []
            for position, (name, source) in enumerate(case.args):
                found = [p for p in plain if p.name == name] if name else plain[position:position + 1]
                try:
                    kind = of_value(evaluate(source)) if found else ANY
                except Exception:
                    continue
                if kind not in (ANY, ("none",)):
                    found[0].learn(kind)

    def _local(self, segment):
        """`package.Version(1)` becomes `Version(1)` where a test would import the name."""
        if segment is None:
            return None

        def short(match):
            prefix, name = match.group(1), match.group(2)
            if name in self.names.origin and prefix.split(".")[0] not in self.names.namespace:
                return name
            return match.group(0)

        segment = re.sub(r"(?<![\w.'\"])((?:\w+\.)+)(\w+)", short, segment)
        return re.sub(r"(?<![\w.'\"])(timedelta|date|datetime)\(", _standard, re.sub(r"\bdt\.", "datetime.", segment))


def _standard(match):
    return "datetime.%s(" % match.group(1)


def _segment(text, node):
    try:
        return ast.get_source_segment(text, node)
    except (ValueError, IndexError, TypeError):
        return None


def _put(segment, texts):
    """An expression with others in the place of some names."""
    places = []
    for node in ast.walk(ast.parse(segment, mode="eval")):
        if isinstance(node, ast.Name) and node.id in texts and node.lineno == node.end_lineno:
            places.append((node.lineno - 1, node.col_offset, node.end_col_offset, texts[node.id]))
    lines = [line.encode() for line in segment.split("\n")]
    for line, start, end, text in sorted(places, reverse=True):
        lines[line] = lines[line][:start] + text.encode() + lines[line][end:]
    return b"\n".join(lines).decode()


def _free_names(tree):
    bound = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound.add(node.id)
    return [
        node.id for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in bound
    ]


def _is_builtin(name):
    import builtins

    return hasattr(builtins, name) and name not in ("input", "open", "exec", "eval", "exit", "quit", "__import__", "help")
