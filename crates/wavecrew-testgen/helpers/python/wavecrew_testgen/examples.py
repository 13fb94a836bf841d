"""Calls that people wrote: examples in docstrings, existing tests, and call sites in the project."""
import ast
import collections
import doctest
import inspect
import os
import re

from .cases import Case
from .literals import literal
from .type_hints import ANY, kind_of_value
from .values import constants

MAX_FILES = 300
MAX_BYTES = 400000
MAX_CALLS = 60
MAX_TEXT = 200
CLOCK = re.compile(r"\b(now|utcnow|today|time|monotonic|perf_counter)\(")  # values that differ from day to day
ARITHMETIC = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Constant, ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.USub)
SKIPPED = {"node_modules", "venv", ".venv", "site-packages", "__pycache__", "build", "dist", ".git", ".tox"}


class Examples:
    """Cases for the targets of a module, and constants of the files that use it."""

    def __init__(self, targets, names, module_name, fixtures=()):
        self.by_name = {}
        for target in targets:
            self.by_name.setdefault(target.name, []).append(target)
        self.names = names
        self.fixtures = fixtures
        self.module_name = module_name
        self.cases = []
        self.known = set()
        self.counts = collections.Counter()  # of cases, by target
        self.constants = []

    def read_docstrings(self, module, targets):
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
            self._read_statements(example.source, known)

    def read_project(self, root, own_path, is_late):
        """Reads files of the project that use this module, tests first."""
        found = []
        for folder, folders, files in os.walk(root):
            folders[:] = sorted(f for f in folders if f not in SKIPPED and not f.startswith("."))
            for name in sorted(files):
                if name.endswith(".py"):
                    found.append(os.path.join(folder, name))
            if len(found) > MAX_FILES * 4:
                break
        found.sort(key=lambda path: ("test" not in path.lower(), path))
        last = self.module_name.split(".")[-1]
        called = re.compile(r"\b(?:%s)\(" % "|".join(re.escape(name) for name in self.by_name))
        for path in found[:MAX_FILES]:
            if path == own_path or is_late():
                continue
            try:
                if os.path.getsize(path) > MAX_BYTES:
                    continue
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                if last not in text and self.module_name.split(".")[0] not in text or not called.search(text):
                    continue
                tree = ast.parse(text)
            except (OSError, SyntaxError, ValueError):
                continue
            source = SourceText(text)
            known = {}
            for node in ast.walk(tree):
                if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                    segment = source.segment(node.value)
                    if segment and len(segment) < 200:
                        known[node.targets[0].id] = segment
            self._calls(source, tree, known)
            if "test" in path.lower():
                self.constants.extend(constants(tree)[:300])
                self._parametrised(source, tree)

    def _read_statements(self, text, known):
        try:
            tree = ast.parse(text)
        except SyntaxError:
            return
        source = SourceText(text)
        self._calls(source, tree, known)
        for node in tree.body:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                value = self._resolve(source.segment(node.value), known)
                if value is not None:
                    known[node.targets[0].id] = value
                elif isinstance(node.value, ast.Call):
                    segment = self._with_local_names(source.segment(node.value))
                    if segment is not None:
                        known[node.targets[0].id] = segment

    def _calls(self, source, tree, known):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                self._call(source, node, known)

    def _call(self, source, node, known):
        function = node.func
        name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", None)
        targets = self.by_name.get(name)
        if not targets or any(isinstance(arg, ast.Starred) for arg in node.args):
            return
        args = []
        for arg in node.args:
            args.append((None, self._resolve(source.segment(arg), known)))
        for keyword in node.keywords:
            if keyword.arg is None:
                return
            args.append((keyword.arg, self._resolve(source.segment(keyword.value), known)))
        if any(value is None or CLOCK.search(value) for _, value in args):
            return
        receiver = None
        if isinstance(function, ast.Attribute):
            receiver = self._resolve(source.segment(function.value), known)
        for target in targets:
            if target.how in ("function", "class", "static"):
                self._add_case(Case(target.key, args))
            elif target.how == "method" and receiver is not None:
                self._add_case(Case(target.key, args, receiver))

    def _add_case(self, case):
        if case not in self.known and self.counts[case.target] < MAX_CALLS:
            self.known.add(case)
            self.counts[case.target] += 1
            self.cases.append(case)

    def _parametrised(self, source, tree):
        """Uses rows of `pytest.mark.parametrize` as arguments of the functions that the test calls."""
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
                        segment = source.segment(cell)
                        if segment:
                            known[word] = segment
                    for statement in node.body:
                        self._calls(source, statement, known)

    def resolved(self, source, known):
        """An example as one self-contained expression, or None."""
        try:
            tree = ast.parse(source)
        except SyntaxError:
            return None
        if len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
            return None
        return self._resolve(source, known)

    def _resolve(self, segment, known):
        """A piece of source as a self-contained expression, or None."""
        for _ in range(3):
            if segment is None:
                return None
            segment = self._with_local_names(segment)
            try:
                tree = ast.parse(segment, mode="eval")
            except (SyntaxError, ValueError):
                return None
            free = _free_names(tree)
            unknown = [name for name in free if name not in self.names.namespace and not _is_builtin(name)
                       and (name in known or name not in self.fixtures)]
            if not unknown:
                segment = self._with_copies(segment, free)
                return _in_one_line(segment) if len(segment) <= MAX_TEXT else None
            if any(name not in known for name in unknown):
                return None
            segment = _substituted(segment, {name: known[name] for name in unknown})
        return None

    def _with_copies(self, segment, free):
        """Replaces mutable objects of the module by copies: a call that changes one would affect other calls."""
        copies = {}
        for name in free:
            value = self.names.namespace.get(name)
            if name in self.names.origin and isinstance(value, (list, dict, set, bytearray)):
                text = repr(value)
                copies[name] = text if len(text) <= MAX_TEXT // 2 and literal(text)[0] else "copy.deepcopy(%s)" % name
        return _substituted(segment, copies) if copies else segment

    def teach_kinds(self, targets, evaluate):
        """Records in parameters which kinds of values people pass."""
        for case in self.cases:
            target = targets.get(case.target)
            plain = [p for p in target.parameters if p.style == "plain"] if target is not None else []
            for position, (name, source) in enumerate(case.args):
                found = [p for p in plain if p.name == name] if name else plain[position:position + 1]
                try:
                    kind = kind_of_value(evaluate(source)) if found else ANY
                except Exception:
                    continue
                if kind not in (ANY, ("none",)):
                    found[0].add_observed_kind(kind)

    def _with_local_names(self, segment):
        """`package.Version(1)` becomes `Version(1)` when a test imports the name."""
        if segment is None:
            return None

        def short(match):
            prefix, name = match.group(1), match.group(2)
            if name in self.names.origin and prefix.split(".")[0] not in self.names.namespace:
                return name
            return match.group(0)

        segment = re.sub(r"(?<![\w.'\"])((?:\w+\.)+)(\w+)", short, segment)
        return re.sub(r"(?<![\w.'\"])(timedelta|date|datetime)\(", _standard_name, re.sub(r"\bdt\.", "datetime.", segment))


def _standard_name(match):
    return "datetime.%s(" % match.group(1)


class SourceText:
    """The text of a file, split once. `ast.get_source_segment` splits the whole text for each node."""

    def __init__(self, text):
        self.lines = [line.encode() for line in text.split("\n")]

    def segment(self, node):
        """The source of a node, or None when it has no position."""
        try:
            lines = self.lines[node.lineno - 1:node.end_lineno]
            lines[-1] = lines[-1][:node.end_col_offset]
            lines[0] = lines[0][node.col_offset:]
            return b"\n".join(lines).decode()
        except (AttributeError, IndexError, TypeError, UnicodeDecodeError):
            return None


def _in_one_line(segment):
    """An expression without line breaks, those inside strings as escapes, and with its arithmetic done."""
    plain, value = literal(segment)
    if plain and isinstance(value, (list, tuple, dict)):
        return repr(value)
    if all(isinstance(node, ARITHMETIC) for node in ast.walk(ast.parse(segment, mode="eval"))):
        return _computed(segment)
    if "\n" not in segment:
        return segment
    return ast.unparse(ast.parse(segment, mode="eval")) if hasattr(ast, "unparse") else None


def _computed(segment):
    """The number that an arithmetic expression stands for."""
    try:
        value = eval(segment, {"__builtins__": {}})
    except (ArithmeticError, TypeError, ValueError):
        return segment
    return repr(value) if isinstance(value, int) and abs(value) < 10 ** 12 else segment


def _substituted(segment, texts):
    """An expression with some names replaced by other expressions."""
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
