"""Replaces the code of functions in a loaded module, for probes and mutants."""
import ast
import functools
import gc
import types

from .tracing import code_objects


class CodeReplacer:
    def __init__(self, path, tree):
        self.path = path
        self.owners = {}
        self._classes(tree.body, ())
        self.functions = {}
        self.caches = []
        for item in gc.get_objects():
            if isinstance(item, types.FunctionType) and item.__code__.co_filename == path:
                code = item.__code__
                self.functions.setdefault((code.co_name, code.co_firstlineno), []).append((item, code))
            elif isinstance(item, functools._lru_cache_wrapper):
                code = getattr(getattr(item, "__wrapped__", None), "__code__", None)
                if code is not None and code.co_filename == path:
                    self.caches.append(item)
        self.replaced = []

    def _classes(self, body, owners):
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.owners[_place(node)] = owners
            elif isinstance(node, ast.ClassDef):
                self._classes(node.body, owners + (node.name,))
            else:
                for part in ("body", "orelse", "finalbody"):
                    self._classes(getattr(node, part, None) or (), owners)
                for handler in getattr(node, "handlers", ()):
                    self._classes(handler.body, owners)

    def compile(self, function):
        """The code object of a function definition, or None when it does not compile."""
        body = [function]
        for name in reversed(self.owners.get(_place(function), ())):
            body = [ast.ClassDef(
                name=name, bases=[], keywords=[], body=body, decorator_list=[], type_params=[], lineno=1, col_offset=0,
                end_lineno=1, end_col_offset=0)]
        tree = ast.Module(body=body, type_ignores=[])
        try:
            code = compile(tree, self.path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, TypeError):
            return None
        place = _place(function)
        for each in code_objects(code):
            if (each.co_name, each.co_firstlineno) == place:
                return each
        return None

    def replace(self, code):
        """Replaces the code of the function with the same name and line. Returns whether there is one that fits."""
        done = False
        for function, original in self.functions.get((code.co_name, code.co_firstlineno), ()):
            try:
                function.__code__ = code
            except ValueError:  # another number of free variables
                continue
            self.replaced.append((function, original))
            done = True
        self.clear()
        return done

    def restore(self):
        for function, original in self.replaced:
            function.__code__ = original
        self.replaced = []
        self.clear()

    def clear(self):
        for cache in self.caches:
            cache.cache_clear()


def _place(function):
    first = min([function.lineno] + [decorator.lineno for decorator in function.decorator_list])
    return function.name, first
