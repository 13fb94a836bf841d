"""Pairs of equal behaviour, made from real releases: the same code, reformatted, re-commented, re-typed, with renamed
locals or reordered imports. Every difference that `wavecrew diff` shows for one of them is a false one."""

import ast
import io
import json
import keyword
import random
import re
import threading
import tokenize
from concurrent.futures import ThreadPoolExecutor

import releases

PYTHON_KINDS = ["identical", "reformatted", "re-commented", "re-typed", "renamed locals", "reordered imports"]
JAVASCRIPT_KINDS = ["identical", "reformatted", "re-commented", "re-typed", "renamed locals"]
# Larger modules only take longer.
MOST_BYTES = 60_000
# What the command answers when it could compare nothing.
BAD_INPUT = 2


def python_identical(text, chance):
    return text.rstrip("\n") + "\n\n\n"


def python_reformatted(text, chance):
    """What the compiler reads, written anew: other quotes, line breaks and brackets, no comments."""
    tree = ast.parse(text)
    return ast.unparse(tree) + "\n"


def python_recommented(text, chance):
    """A comment before every second statement, and no other comments."""
    lines = text.splitlines()
    inside = string_lines(text)
    starts = {node.lineno for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt)}
    out = []
    for number, line in enumerate(lines, 1):
        blank = line[: len(line) - len(line.lstrip())]
        plain = number in starts and number not in inside and not (out and out[-1].endswith("\\"))
        if plain and chance.random() < 0.5 and not line.lstrip().startswith(("elif", "else", "except", "finally", "@")):
            out.append(f"{blank}# Step {number}: {chance.choice(['see above', 'as documented', 'unchanged'])}.")
        out.append(line)
    return "\n".join(out) + "\n"


def string_lines(text):
    """Lines inside texts of several lines, and continued lines."""
    inside = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        inside.update(range(token.start[0] + 1, token.end[0] + 1))
    return inside


class Retype(ast.NodeTransformer):
    """Adds annotations without effect to parameters and results that have none."""

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        for argument in arguments:
            if argument.annotation is None and argument.arg not in ("self", "cls"):
                argument.annotation = ast.Constant("object")
        return node


def python_retyped(text, chance):
    tree = ast.parse(text)
    # Annotations that a program reads at run time are behaviour: only plain functions get new ones.
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and not node.decorator_list and not inspects_annotations(text):
            Retype().visit_FunctionDef(node)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def inspects_annotations(text):
    return bool(re.search(r"annotations|get_type_hints|signature|getfullargspec|singledispatch", text))


class RenameLocals(ast.NodeTransformer):
    """Renames variables that are assigned in a function and used nowhere else."""

    def visit_FunctionDef(self, node):
        inner = [each for each in ast.walk(node) if each is not node]
        if any(isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.Global, ast.Nonlocal)) for each in inner):
            return self.generic_visit(node)
        names = {each.id for each in inner if isinstance(each, ast.Name)}
        if names & {"locals", "vars", "eval", "exec", "dir", "globals"}:
            return node
        parameters = {each.arg for each in inner if isinstance(each, ast.arg)}
        assigned = {each.id for each in inner if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
        bound = {each.name for each in inner if isinstance(each, ast.ExceptHandler) and each.name}
        bound |= {alias.asname or alias.name for each in inner if isinstance(each, (ast.Import, ast.ImportFrom)) for alias in each.names}
        table = {name: f"{name}_value" for name in assigned - parameters - bound if not keyword.iskeyword(name) and f"{name}_value" not in names}
        for each in inner:
            if isinstance(each, ast.Name) and each.id in table:
                each.id = table[each.id]
        return node


def python_renamed(text, chance):
    if re.search(r"\blocals\(\)|\bmatch\b.*:$", text, re.MULTILINE):
        return text
    return ast.unparse(ast.fix_missing_locations(RenameLocals().visit(ast.parse(text)))) + "\n"


def python_reordered(text, chance):
    """Neighbouring imports of the standard library in another order."""
    lines = text.splitlines()
    plain = re.compile(r"(import (abc|ast|bisect|collections|copy|datetime|functools|io|itertools|json|math|operator|os|re|string|sys|time|types|typing|warnings)"
                       r"|from (collections|functools|itertools|operator|typing|math|datetime|types) import [\w, ]+)$")
    out, block = [], []
    for line in [*lines, None]:
        if line is not None and plain.match(line):
            block.append(line)
            continue
        out += reversed(block)
        block = []
        if line is not None:
            out.append(line)
    return "\n".join(out) + "\n"


def javascript_identical(text, chance):
    return text.rstrip("\n") + "\n\n"


def javascript_reformatted(text, chance):
    """Twice the indentation, and blank lines after statements, where no text or comment spans lines."""
    if "`" in text or re.search(r"\\\n", text):
        return text.rstrip() + "\n\n"
    lines = []
    for line in text.splitlines():
        blank = line[: len(line) - len(line.lstrip())]
        lines.append(blank + line)
        if line.endswith(";") and chance.random() < 0.3:
            lines.append("")
    return "\n".join(lines) + "\n"


def javascript_recommented(text, chance):
    if "`" in text:
        return "// As documented.\n" + text if not text.startswith("#!") else text + "\n// As documented.\n"
    lines = []
    open_comment = False
    for number, line in enumerate(text.splitlines(), 1):
        inner = line.strip()
        if not open_comment and re.match(r"(var|const|let|return|if) ", inner) and lines and lines[-1].rstrip().endswith((";", "{")) and chance.random() < 0.5:
            lines.append(f"{line[: len(line) - len(line.lstrip())]}// Step {number}.")
        open_comment = ("/*" in line or open_comment) and "*/" not in line[line.rfind("/*") + 2 if "/*" in line else 0 :]
        lines.append(line)
    return "\n".join(lines) + "\n"


def javascript_retyped(text, chance):
    """JSDoc types above functions, which no engine reads."""
    if "`" in text:
        return text + "\n/** @typedef {object} Unused */\n"
    return re.sub(r"^((?:module\.exports = |exports\.\w+ = )?function\b)", r"/** @returns {unknown} */\n\1", text, flags=re.MULTILINE) + "\n/** @typedef {object} Unused */\n"


def javascript_renamed(text, chance):
    """Renames variables declared once with var, const or let, if the name occurs nowhere but as a plain variable."""
    if re.search(r"\beval\(|\bwith \(|new Function", text):
        return text
    found = re.findall(r"^\s+(?:var|const|let) ([A-Za-z_$][\w$]*) = ", text, flags=re.MULTILINE)
    for name in sorted(set(found)):
        uses = [match.start() for match in re.finditer(rf"(?<![\w$]){re.escape(name)}(?![\w$])", text)]
        # Properties, keys, texts and shorthand would change with it.
        plain = all(
            text[at - 1] not in ".'\"`/{-#@" and not re.match(r"\s*:", text[at + len(name) :]) and not in_text(text, at) for at in uses
        )
        if plain and found.count(name) == 1 and len(name) > 2 and not re.search(rf"[{{,]\s*{re.escape(name)}\s*[,}}]", text):
            text = re.sub(rf"(?<![\w$]){re.escape(name)}(?![\w$])", f"{name}Value", text)
    return text


def in_text(text, at):
    """Whether a position is after a quote or comment sign of its line."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return any(sign in line for sign in ("'", '"', "`", "//", "/*", " *"))


MAKE = {
    (".py", "identical"): python_identical,
    (".py", "reformatted"): python_reformatted,
    (".py", "re-commented"): python_recommented,
    (".py", "re-typed"): python_retyped,
    (".py", "renamed locals"): python_renamed,
    (".py", "reordered imports"): python_reordered,
    (".js", "identical"): javascript_identical,
    (".js", "reformatted"): javascript_reformatted,
    (".js", "re-commented"): javascript_recommented,
    (".js", "re-typed"): javascript_retyped,
    (".js", "renamed locals"): javascript_renamed,
}


def cases(pairs, count):
    """A module of a prepared pair and a kind of change, in an order that mixes packages and kinds."""
    every = []
    for pair in pairs:
        if not (pair.folder / "ready").exists():
            continue
        newer = releases.fetch(pair, pair.newer)
        suffix, kinds = (".js", JAVASCRIPT_KINDS) if pair.registry == "npm" else (".py", PYTHON_KINDS)
        for inner in releases.files(newer):
            if inner.suffix == suffix and releases.is_source(inner) and 200 < (newer / inner).stat().st_size < MOST_BYTES:
                every += [(pair, inner, kind) for kind in kinds]
    random.Random(1).shuffle(every)
    # One release of a package is enough for each module and kind.
    chosen, seen = [], set()
    for pair, inner, kind in every:
        if (pair.name, inner.name, kind) not in seen:
            seen.add((pair.name, inner.name, kind))
            chosen.append((pair, inner, kind))
    return chosen[:count]


def make(pair, inner, kind):
    """Puts the pair into the project of a release: HEAD~1 is the release, HEAD the changed module. Returns whether it changed."""
    newer = releases.fetch(pair, pair.newer)
    text = (newer / inner).read_text()
    changed = MAKE[inner.suffix, kind](text, random.Random(f"{pair.id} {inner} {kind}"))
    if inner.suffix == ".py":
        compile(changed, str(inner), "exec")
    if changed == text:
        return False
    releases.git(pair.project, "checkout", "-q", "-f", "-B", "equal", "visible")
    releases.git(pair.project, "clean", "-q", "-f", "-d")
    (pair.project / inner).write_text(changed)
    releases.git(pair.project, "add", "-A", "-f", str(inner))
    releases.git(pair.project, "commit", "-q", "-m", f"{inner}: {kind}")
    return True


class Measurement:
    """Measures pairs until `count` of them have a result. Continues after the last one. Pairs for which the time was too
    short are measured again.

    Most pairs are recognised by their text, and nothing runs. With `forced`, all of them run.
    """

    def __init__(self, program, home, pairs, count, run_diff, forced, budget):
        self.program, self.count, self.run_diff, self.forced, self.budget = program, count, run_diff, forced, budget
        self.file = home / "equal" / ("forced.json" if forced else "result.json")
        self.file.parent.mkdir(parents=True, exist_ok=True)
        done = json.loads(self.file.read_text()) if self.file.exists() else []
        self.done = [case for case in done if case["exit"] != BAD_INPUT]
        known = {(case["pair"], case["module"], case["kind"]) for case in self.done}
        self.left = [(pair, inner, kind) for pair, inner, kind in cases(pairs, 10 * count) if (pair.id, str(inner), kind) not in known]
        # Two runs must not use the same project at the same time.
        self.busy = set()
        self.lock = threading.Lock()

    def take(self):
        """The next case whose project is free."""
        with self.lock:
            if len(self.done) + len(self.busy) >= self.count:
                return None
            case = next((case for case in self.left if case[0].id not in self.busy), None)
            if case:
                self.left.remove(case)
                self.busy.add(case[0].id)
            return case

    def finish(self, pair, result):
        with self.lock:
            self.busy.remove(pair.id)
            if result is None:
                return
            self.done.append(result)
            self.file.write_text(json.dumps(self.done, indent=2) + "\n")
            shown = f"no result: {result['problem'][-100:]}" if "problem" in result else len(result["differences"])
            print(f"{len(self.done)}/{self.count} {result['pair']} {result['module']} {result['kind']}: {shown} ({result['seconds']} s)", flush=True)

    def run(self):
        while case := self.take():
            result = None
            try:
                result = self.one(*case)
            finally:
                self.finish(case[0], result)

    def one(self, pair, inner, kind):
        try:
            if not make(pair, inner, kind):
                return None
            printed, code, seconds, problem = self.run_diff(self.program, pair.project, self.budget, *(["--cosmetic"] if self.forced else []))
        except (SyntaxError, UnicodeDecodeError):
            return None
        finally:
            releases.git(pair.project, "checkout", "-q", "-f", "visible")
        result = {"pair": pair.id, "module": str(inner), "kind": kind, "exit": code, "seconds": seconds}
        if printed is None:
            return result | {"problem": problem}
        return result | {"differences": printed["differences"], "calls": printed.get("calls")}


def measure(program, home, pairs, count, run_diff, forced, budget, jobs):
    measurement = Measurement(program, home, pairs, count, run_diff, forced, budget)
    with ThreadPoolExecutor(jobs) as pool:
        for lane in [pool.submit(measurement.run) for _ in range(jobs)]:
            lane.result()
