"""Pieces of tests and examples as inputs: the statements before an assertion, and the expression that it is about.

A snippet is a target like a function. Its literals are its arguments, so the search can vary them.
"""
import __future__
import ast
import builtins
import copy
import doctest
import functools
import itertools
import operator
import os
import sys
import time
import types
import zlib

from . import snippet_fixtures
from .cases import Case
from .import_paths import module_name_and_folder
from .targets import Parameter, Target
from .type_hints import ANY, kind_of_value
from .values import Pool, constants, separators

LOAD_SECONDS = 8
MAX_SNIPPETS = 1500
MAX_PER_FILE = 600
MAX_ROWS = 120
MAX_TEXT = 3000
SLOT = "__literal_%d__"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
EQUAL = ("assertEqual", "assertEquals", "assertNotEqual", "assertIs", "assertIsNot", "assertIn", "assertNotIn", "assertDictEqual",
         "assertListEqual", "assertTupleEqual", "assertSetEqual", "assertSequenceEqual", "assertMultiLineEqual", "assertGreater",
         "assertLess", "assertGreaterEqual", "assertLessEqual", "assertAlmostEqual", "assertCountEqual", "assertRegex")
SINGLE = ("assertTrue", "assertFalse", "assertIsNone", "assertIsNotNone", "assertIsInstance")
RAISING = ("raises", "assertRaises", "assertRaisesRegex", "warns", "assertWarns")


class Snippet(Target):
    """`template` has a slot for each literal. The last line of it is the expression that is observed."""

    def __init__(self, key, name, imports, setup, expression, literals, scope):
        parameters = [_parameter(index, source) for index, source in enumerate(literals)]
        super().__init__(key, name, None, "snippet", None, parameters, True)
        self._imports = imports
        self.setup, self.observed = setup, expression
        self.literals = tuple((None, source) for source in literals)
        self.scope = scope  # the names of its file
        self.returns_value = True
        self.qualified_name = name

    @property
    def imports(self):
        """Source of the import statements and definitions that it needs, or None."""
        return self._imports() if callable(self._imports) else self._imports

    def case(self):
        return Case(self.key, self.literals)

    def parts(self, args):
        """The statements and the expression with given literals."""
        return _filled(self.setup, args), _filled(self.observed, args)

    def text(self, args):
        setup, expression = self.parts(args)
        return setup + "\n" + expression if setup else expression


def _filled(template, args):
    for index, (_, source) in enumerate(args):
        template = template.replace(SLOT % index, source)
    return template


def _parameter(index, source):
    try:
        value = ast.literal_eval(source)
        kind = kind_of_value(value)
    except (ValueError, SyntaxError):
        value, kind = None, ANY
    return Parameter("literal_%d" % index, "plain", True, [(kind if kind != ANY else ("plain",), 10)], value, False)


def pool_for(target, aimed):
    """Values for a snippet: the changed constants, and those of the snippet itself."""
    try:
        tree = ast.parse(target.text(target.literals))
    except SyntaxError:
        return Pool(aimed, ())
    pool = Pool(aimed, constants(tree)[:100])
    pool.separators = separators(tree)
    return pool


class Snippets:
    """The snippets of test files and docstrings, in this process."""

    def __init__(self, request, guard, beat):
        """`beat` says that this process is alive: loading takes long without a call."""
        self.request = request
        self.guard = guard
        self.beat = beat
        self.failures = {}

    def load(self, files):
        """The snippets of some files, in order. A file that does not load has none."""
        found = []
        if not hasattr(ast, "unparse"):
            return found
        started = time.process_time()
        for path in files:
            if len(found) >= MAX_SNIPPETS or time.process_time() - started > self.request["diff"]["snippet_seconds"]:
                break
            self.beat()
            try:
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                if path.endswith(".py"):
                    tree = ast.parse(text)
                    found += self._of_tests(path, tree)[:MAX_PER_FILE] + self._of_docstrings(path, tree)
                else:
                    found += self._of_text(path, text, {}, [])[:MAX_PER_FILE]
            except (OSError, SyntaxError, ValueError, RecursionError) as error:
                self.failures[path] = str(error)
        return found[:MAX_SNIPPETS]

    def _scope(self, path, body):
        """The names of a test file, made by its statements one by one: one that fails leaves out what needs it."""
        name, folder = module_name_and_folder(path)
        base, own = self.request["diff"]["new_root"], self.request["root"]
        if folder.startswith(base):
            folder = own + folder[len(base):]
        if folder not in sys.path:
            sys.path.append(folder)
        scope = {"__name__": name, "__package__": name.rpartition(".")[0], "__file__": path, "__builtins__": __builtins__}
        failed = []
        flags = _future_flags(body)
        for statement in _single_imports(body):
            if isinstance(statement, (ast.If, ast.Try, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, *FUNCTIONS,
                                      ast.ClassDef)):
                try:
                    code = compile(ast.Module([statement], []), path, "exec", flags, True)
                    self.guard.call(lambda: exec(code, scope), LOAD_SECONDS)
                except BaseException as error:
                    failed.append("%s: %s" % (type(error).__name__, str(error)[:120]))
        if failed:
            self.failures[path] = failed[0]
        return scope

    # -- tests -------------------------------------------------------------------------------------------------------

    def _of_tests(self, path, tree):
        functions = [(node, None) for node in tree.body if isinstance(node, FUNCTIONS) and node.name.startswith("test")]
        classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        for kind in classes.values():
            if "Test" in kind.name:
                methods = _methods(kind, classes)
                functions += [(node, (kind, methods)) for name, node in methods.items() if name.startswith("test")]
        first = self.request["diff"]["first_tests"].get(os.path.relpath(path, self.request["diff"]["new_root"]))
        if first:
            names = {(function.name if owner is None else "%s.%s" % (owner[0].name, function.name)): number
                     for number, (function, owner) in enumerate(functions)}
            place = {names[name]: rank for rank, name in enumerate(first) if name in names}
            functions = [functions[number] for number in sorted(range(len(functions)), key=lambda number: place.get(number, len(functions)))]
        if not functions:
            return []
        context = self._context(path, tree)
        contexts = {}
        found = []
        for function, owner in functions:
            own = context
            if owner is not None:
                own = contexts.get(owner[0].name) or contexts.setdefault(owner[0].name, context.of_class(owner[0]))
            body = function.body
            if isinstance(function, ast.AsyncFunctionDef):
                body = [_Waiting().visit(copy.deepcopy(statement)) for statement in body]
            for number, prefix in enumerate(_rows(function, owner, own)):
                name = function.name if owner is None else "%s.%s" % (owner[0].name, function.name)
                if isinstance(function, ast.AsyncFunctionDef):
                    prefix = ast.parse("import asyncio").body + prefix
                found += own.snippets(name, prefix, body, owner, number)
        return found

    def _context(self, path, tree):
        """What the pieces of a test file may use: names, imports, definitions and fixtures, with those of its conftest files."""
        root = self.request["diff"]["new_root"]
        outer = _Context(os.path.relpath(path, root), root, {}, [], {}, self.beat)
        for file in snippet_fixtures.conftest_files(path, root) + [path]:
            try:
                with open(file, encoding="utf-8") as text:
                    body = (tree if file == path else ast.parse(text.read())).body
            except (OSError, SyntaxError, ValueError):
                continue
            fixtures = snippet_fixtures.Fixtures(body)
            if file != path and not fixtures.known:
                continue
            scope = self._scope(file, body)
            helpers = {node.name: node for node in body if isinstance(node, FUNCTIONS + (ast.ClassDef,))}
            values = {target.id: node for node in body if isinstance(node, ast.Assign) for target in node.targets
                      if isinstance(target, ast.Name)}
            context = _Context(outer.path, root, scope, [node for node in body if isinstance(node, (ast.Import, ast.ImportFrom))],
                               dict(values, **helpers), self.beat)
            context.fixtures = fixtures
            context.define_fixtures()
            outer.add(context)
        return outer

    def of_attributes(self, module, changed, prefix, tree):
        """Snippets that read the module's own constants on changed lines."""
        found = []
        for name in changed:
            if not name.startswith("_") and hasattr(module, name) and not callable(getattr(module, name)):
                line = "from %s import %s" % (module.__name__, name)
                target = Snippet("%s::%s" % (prefix, name), name, line, "", name, [], {name: getattr(module, name)})
                target.lines = next(((node.lineno, node.end_lineno) for node in tree.body
                                     if isinstance(node, (ast.Assign, ast.AnnAssign)) and name in _names(node)), (0, 0))
                found.append(target)
        return found

    # -- examples ----------------------------------------------------------------------------------------------------

    def _of_docstrings(self, path, tree):
        found = []
        scope = None
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
                text = ast.get_docstring(node)
                if text and ">>>" in text:
                    if scope is None:
                        scope = self._module_scope(path)
                        if scope is None:
                            return []
                    found += self._of_text(path, text, scope, [], getattr(node, "name", "module"))
        return found

    def _module_scope(self, path):
        own = self.request["root"] + path[len(self.request["diff"]["new_root"]):]
        for module in list(sys.modules.values()):
            if getattr(module, "__file__", None) == own:
                return dict(vars(module))
        return None

    def _of_text(self, path, text, scope, imports, name="example"):
        try:
            examples = doctest.DocTestParser().get_examples(text)
            tree = [statement for example in examples for statement in ast.parse(example.source).body]
        except (ValueError, SyntaxError):
            return []
        root = self.request["diff"]["new_root"]
        context = _Context(os.path.relpath(path, root), root, dict(scope), imports, {}, self.beat)
        home = next((module.__name__ for module in list(sys.modules.values()) if scope and vars(module).get("__file__") == scope.get("__file__")), None)
        context.home = home
        return context.snippets(name, [], tree, None, 0, every=True)


def _methods(kind, classes, depth=0):
    """The methods of a class by name, with those of its bases in the same file."""
    found = {}
    for base in reversed(kind.bases):
        if isinstance(base, ast.Name) and base.id in classes and depth < 5:
            found.update(_methods(classes[base.id], classes, depth + 1))
    found.update((node.name, node) for node in kind.body if isinstance(node, FUNCTIONS))
    return found


def _future_flags(body):
    """The compiler flags of the `__future__` imports of a file, whose statements are compiled one by one."""
    names = [alias.name for node in body if isinstance(node, ast.ImportFrom) and node.module == "__future__" for alias in node.names]
    return functools.reduce(operator.or_, (getattr(__future__, name).compiler_flag for name in names if hasattr(__future__, name)), 0)


def _without_annotations(node):
    """A definition without its annotations, whose names may exist for type checkers only."""
    node = copy.deepcopy(node)
    for each in ast.walk(node):
        if isinstance(each, FUNCTIONS):
            each.returns = None
        elif isinstance(each, ast.arg):
            each.annotation = None
    return node


def changed_names(tree, lines):
    """Names that are assigned on some lines outside of functions."""
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and lines.intersection(range(node.lineno, node.end_lineno + 1)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name) and target.id.lower() not in ("version", "version_info"):
                    yield target.id


def _single_imports(body):
    """The statements with one name per import: a name that one version lacks must not hide the others."""
    for statement in body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            for alias in statement.names:
                single = copy.copy(statement)
                single.names = [alias]
                yield single
        else:
            yield statement


def _rows(function, owner, context):
    """What a test has to run first: the values of its parameters, one list of statements for each row."""
    names = [arg.arg for arg in function.args.args]
    if owner is not None and names:
        names = names[1:]
    # What fills in parameters, such as a mock, does so at the end.
    names = names[:len(names) - len(function.args.defaults)]
    tables = []
    for decorator in function.decorator_list + (owner[0].decorator_list if owner else []):
        if isinstance(decorator, ast.Call) and len(decorator.args) >= 2 and "parametrize" in ast.dump(decorator.func):
            try:
                words = ast.literal_eval(decorator.args[0])
            except ValueError:
                return
            words = [word.strip() for word in words.split(",")] if isinstance(words, str) else list(words)
            rows = context.elements(decorator.args[1], [])
            if not rows:
                return
            tables.append((words, rows))
    provided = {word for words, _ in tables for word in words}
    needed = [name for name in names if name not in provided]
    most = max([len(rows) for _, rows in tables] + [context.fixtures.rows(name) for name in needed] + [1])
    for number in range(min(most, MAX_ROWS)):
        prefix, done = [], set(provided)
        for name in needed:
            prefix += context.fixtures.statements(name, number, done) or []
        for words, rows in tables:
            row = rows[number % len(rows)] if rows else None
            if isinstance(row, ast.Call) and getattr(row.func, "attr", "") == "param":
                cells = row.args
            else:
                cells = row.elts if len(words) > 1 and isinstance(row, (ast.Tuple, ast.List)) else [row]
            if row is None or len(cells) < len(words):
                return
            prefix += [_assign(word, cell) for word, cell in zip(words, cells)]
        yield prefix


def _assign(name, value):
    return ast.Assign(targets=[ast.Name(name, ast.Store())], value=value, lineno=1)


class _Context:
    """Where snippets come from: the names, imports and definitions of a file."""

    def __init__(self, path, root, scope, imports, definitions, beat):
        self.path = path
        self.root = root
        self.scope = scope
        self.imports = imports
        self.definitions = definitions
        self.home = None
        self.pieces = {}
        self.beat = beat  # says that this process is alive
        self.fixtures = snippet_fixtures.Fixtures(())

    def add(self, other):
        """Adds what a nearer file has."""
        self.scope.update(other.scope)
        self.imports += other.imports
        self.definitions.update(other.definitions)
        self.fixtures.known.update(other.fixtures.known)

    def of_class(self, kind):
        """This context with the fixtures of a test class."""
        found = copy.copy(self)
        found.fixtures = self.fixtures.of_class(kind)
        if len(found.fixtures.known) > len(self.fixtures.known):
            found.scope, found.definitions = dict(self.scope), dict(self.definitions)
            found.define_fixtures()
        return found

    def define_fixtures(self):
        """Makes plain functions of the fixtures."""
        for name, node in self.fixtures.definitions().items():
            self.definitions[name] = node = _without_annotations(node)
            try:
                exec(compile(ast.Module([node], []), self.path, "exec", dont_inherit=True), self.scope)
            except Exception:
                self.scope.pop(name, None)

    def elements(self, node, before):
        """The elements of an expression as nodes: those that are written there, or else those of its value, if they can be
        written. `before` are the statements before it."""
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            return [] if any(isinstance(each, ast.Starred) for each in node.elts) else node.elts
        known = {}
        for statement in before:
            if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
                known[statement.targets[0].id] = statement.value
        if isinstance(node, ast.Name) and node.id not in known and isinstance(self.definitions.get(node.id), ast.Assign):
            known[node.id] = self.definitions[node.id].value
        if isinstance(node, ast.Name) and isinstance(known.get(node.id), (ast.List, ast.Tuple, ast.Set)):
            return self.elements(known[node.id], [])
        try:
            scope = dict(self.scope)
            for name, value in known.items():
                if _is_literal(value):
                    scope[name] = ast.literal_eval(value)
            code = compile(ast.fix_missing_locations(ast.Expression(copy.deepcopy(node))), "<case>", "eval", dont_inherit=True)
            named = {id(value): name for name, value in self.scope.items() if isinstance(value, (type, types.FunctionType))}
            nodes = [self._written(value, named) for value in itertools.islice(eval(code, scope), MAX_ROWS)]
            return [each for each in nodes if each is not None]
        except Exception:
            return []

    def _written(self, value, named, depth=0):
        """A value as a node, or None if it cannot be written."""
        marks, values = getattr(value, "marks", None), getattr(value, "values", None)
        if marks is not None and isinstance(values, tuple):  # what `pytest.param` makes
            value = values if len(values) > 1 else values[0]
        if isinstance(value, type) and getattr(builtins, value.__name__, None) is value:
            return ast.Name(value.__name__, ast.Load())
        if isinstance(value, (type, types.FunctionType)):
            return ast.Name(named[id(value)], ast.Load()) if id(value) in named else None
        if type(value) in (list, tuple) and depth < 4:
            parts = [self._written(each, named, depth + 1) for each in value]
            kind = ast.List if type(value) is list else ast.Tuple
            return None if None in parts else kind(parts, ast.Load())
        if self.root in repr(value):
            return None  # a path of this copy
        try:
            node = ast.parse(repr(value), mode="eval").body
        except (SyntaxError, ValueError):
            return None
        return node if _is_literal(node) else None

    def snippets(self, name, prefix, body, owner, number, every=False):
        setup = list(prefix)
        if owner is not None:
            kind, methods = owner
            given = repr(name.rpartition(".")[2]) if any("TestCase" in ast.dump(base) for base in kind.bases) else ""
            lines = ["self = %s(%s)" % (kind.name, given)]
            lines += ["self.%s" % call for call in ("setUp()", "setup_method(None)") if call.partition("(")[0] in methods]
            setup = ast.parse("\n".join(lines)).body + setup
        found = []
        for statements, expression in _observations(body, setup, every, self.elements):
            self.beat()
            made = self._snippet("%s::%s[%d]#%d" % (self.path, name, number, len(found)), name, statements, expression)
            if made is not None:
                found.append(made)
        return found

    def _snippet(self, key, name, statements, expression):
        pieces = [self._piece(each) for each in _needed(statements, expression, self._piece)]
        observed = self._piece(expression)
        if not all(piece.is_usable for piece in pieces + [observed]):
            return None
        if sum(len(piece.text) for piece in pieces) + len(observed.text) > MAX_TEXT:
            return None
        literals = []
        setup = "\n".join(piece.numbered(literals) for piece in pieces)
        shown = observed.numbered(literals)
        scope = dict(self.scope)
        scope.setdefault("types", types)

        def imports():
            return self._imports_for(ast.parse(_filled(setup, [(None, s) for s in literals]) + "\n" + _filled(shown, [(None, s) for s in literals])))

        # What a version computes may be another piece of the same place. Only equal pieces are compared.
        key = "%s@%x" % (key, zlib.crc32((setup + "\n" + shown).encode("utf-8", "replace")))
        return Snippet(key, name, imports, setup, shown, literals, scope)

    def _piece(self, node):
        """What is known about a statement or expression, read once."""
        known = self.pieces.get(id(node))
        if known is None:
            known = self.pieces[id(node)] = _Piece(node)
        return known

    def _imports_for(self, tree):
        """Source of the imports and definitions of the file that some code needs."""
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        lines, todo, defined = [], set(used), []
        while todo:
            name = todo.pop()
            node = self.definitions.get(name)
            if node is not None and node not in defined:
                defined.append(node)
                more = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} - used
                used |= more
                todo |= more
        if "types" in used and "types" not in self.scope:
            lines.append("import types")
        if self.home is not None:
            names = sorted(name for name in used if name in self.scope and not name.startswith("__"))
            if names:
                lines.append("from %s import %s" % (self.home, ", ".join(names)))
        for node in self.imports:
            kept = [alias for alias in node.names if alias.name == "*" or (alias.asname or alias.name.split(".")[0]) in used]
            if kept:
                node = copy.copy(node)
                node.names = kept
                if isinstance(node, ast.ImportFrom) and node.level:
                    # A relative import works in the folder of the tests only.
                    package = self.scope.get("__package__", "").split(".")
                    if not package[0] or node.level > len(package):
                        return None
                    parts = package[:len(package) + 1 - node.level] + ([node.module] if node.module else [])
                    node.module, node.level = ".".join(parts), 0
                lines.append(ast.unparse(node))
        order = list(self.definitions.values())
        for node in sorted(defined, key=order.index):
            lines.append(ast.unparse(_without_annotations(node)))
        return "\n".join(lines)


def _own_nodes(tree):
    """Nodes outside of nested functions."""
    todo = list(tree.body)
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            todo.extend(ast.iter_child_nodes(node))


class _Piece:
    """A statement or expression as text with slots for its literals, and the names that it uses."""

    def __init__(self, node):
        self.node = node  # keeps its id
        self.names = _names(node)
        self.stored = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
        self.stored |= {each.name for each in ast.walk(node) if isinstance(each, (ast.FunctionDef, ast.ClassDef))}
        self.literals = []
        self.is_usable = not any(isinstance(each, (ast.Yield, ast.Await, ast.Return)) for each in _own_nodes(ast.Module([node], [])))
        try:
            self.text = ast.unparse(ast.fix_missing_locations(_Lift(self.literals).visit(copy.deepcopy(node))))
        except (ValueError, SyntaxError, RecursionError, TypeError, AttributeError):
            self.text, self.is_usable = "", False

    def numbered(self, literals):
        """The text, with slots that continue those of a list, which gets the literals."""
        text, first = self.text, len(literals)
        for index in reversed(range(len(self.literals))) if first else ():
            text = text.replace(SLOT % index, SLOT % (first + index))
        literals.extend(self.literals)
        return text


def _needed(statements, expression, piece=None):
    """The statements that an expression needs: those that define, or may change, a name that it or they use."""
    piece = piece or _Piece
    used = set(piece(expression).names)
    functions = {node.name for node in statements if isinstance(node, ast.FunctionDef)}
    kept = []
    for statement in reversed(statements):
        one = piece(statement)
        changes = not isinstance(statement, ast.Assign) or any(not isinstance(target, ast.Name) for target in statement.targets)
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            # A call of a function changes nothing that only its name shares.
            changes = not isinstance(statement.value.func, ast.Name) or bool((one.names - {statement.value.func.id}) & used - functions)
        if one.stored & used or changes and one.names & used or isinstance(statement, (ast.Import, ast.ImportFrom, ast.With)):
            kept.insert(0, statement)
            used |= one.names
    return kept


def _names(node):
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _observations(body, setup, every, elements):
    """Pairs of statements and an expression, for each assertion. With `every`, also for each expression statement.
    `elements` lists what a loop goes through."""
    setup = list(setup)
    for statement in body:
        if isinstance(statement, ast.Assert):
            for expression in _observed(statement.test):
                yield setup, expression
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) and _assertion(statement.value) is not None:
            for expression in _assertion(statement.value):
                yield setup, expression
        elif isinstance(statement, ast.With) and _expects_error(statement):
            inner = statement.body
            last = inner[-1]
            if isinstance(last, ast.Expr):
                yield setup + inner[:-1], last.value
            elif isinstance(last, ast.Assign):
                yield setup + inner[:-1], last.value
        elif isinstance(statement, ast.With) and _has_assertion(statement):
            yield from _observations(statement.body, setup, False, elements)
        elif isinstance(statement, ast.For) and _has_assertion(statement):
            for element in elements(statement.iter, setup)[:MAX_ROWS]:
                step = ast.Assign(targets=[statement.target], value=element, lineno=1)
                yield from _observations(statement.body, setup + [step], False, elements)
        elif every and isinstance(statement, ast.Expr):
            yield setup, statement.value
            setup.append(statement)
        else:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                yield setup, statement.value  # called for its effect, or for not raising
            setup.append(statement)


def _has_assertion(statement):
    return any(isinstance(node, ast.Assert) or isinstance(node, ast.Call) and _assertion(node) is not None
               for node in ast.walk(statement))


def _expects_error(statement):
    calls = [item.context_expr for item in statement.items if isinstance(item.context_expr, ast.Call)]
    return any(getattr(call.func, "attr", getattr(call.func, "id", "")) in RAISING for call in calls)


def _assertion(call):
    """The expressions that a call such as `self.assertEqual(...)` is about; None for other calls."""
    name = getattr(call.func, "attr", "")
    if name in EQUAL and len(call.args) >= 2:
        return [arg for arg in call.args[:2] if not _is_literal(arg)]
    if name in SINGLE and call.args:
        return [call.args[0]]
    if name in ("raises", "assertRaises") and len(call.args) >= 2:
        return [ast.Call(func=call.args[1], args=call.args[2:], keywords=call.keywords)]
    return None


def _observed(test):
    if isinstance(test, ast.Compare):
        parts = [part for part in [test.left] + test.comparators if not _is_literal(part)]
        return parts + ([test] if len(parts) > 1 else [])
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _observed(test.operand)
    if isinstance(test, ast.BoolOp):
        return [part for value in test.values for part in _observed(value)]
    if isinstance(test, ast.Call) and getattr(test.func, "id", "") == "isinstance" and test.args:
        return [test.args[0]]
    return [] if _is_literal(test) else [test]


def _is_literal(node):
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


class _Waiting(ast.NodeTransformer):
    """Replaces `await` by a call that waits, so that statements run outside of a coroutine."""

    def visit_Await(self, node):
        self.generic_visit(node)
        run = ast.Attribute(ast.Name("asyncio", ast.Load()), "run", ast.Load())
        return ast.copy_location(ast.Call(func=run, args=[node.value], keywords=[]), node)

    def visit_AsyncFunctionDef(self, node):
        return node


class _Lift(ast.NodeTransformer):
    """Replaces literals by slots."""

    def __init__(self, literals):
        self.literals = literals

    def visit(self, node):
        if isinstance(node, (ast.JoinedStr, ast.Import, ast.ImportFrom)):
            return node
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            return node
        if isinstance(node, ast.expr) and not isinstance(getattr(node, "ctx", None), ast.Store) and _is_literal(node):
            if isinstance(node, ast.Constant) and (node.value is None or node.value is Ellipsis or isinstance(node.value, bool)):
                return node
            if isinstance(node, (ast.List, ast.Tuple, ast.Dict, ast.Set)) and not ast.dump(node).count("Constant"):
                return node
            self.literals.append(ast.unparse(node))
            return ast.Name(SLOT % (len(self.literals) - 1), ast.Load())
        return self.generic_visit(node)
