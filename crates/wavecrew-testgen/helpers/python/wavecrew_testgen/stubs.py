"""Annotations from the stub file (`.pyi`) beside a module."""
import ast
import builtins
import collections.abc
import typing


class _Scope(dict):
    def __missing__(self, name):
        return typing.Any  # a type variable or class of the stub file


class Stubs:
    """The annotations of functions, by qualified name and parameter."""

    def __init__(self, path, module):
        self.scope = _Scope(vars(builtins))
        for names in (vars(typing), vars(collections.abc), vars(module)):
            self.scope.update(names)
        self.found = {}
        try:
            with open(path + "i", "rb") as file:
                self._read(ast.parse(file.read()).body, "")
        except (OSError, SyntaxError, ValueError):
            pass

    def _read(self, body, owner):
        for node in body:
            if isinstance(node, ast.ClassDef):
                self._read(node.body, owner + node.name + ".")
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                args = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
                known = self.found.setdefault(owner + node.name, {})  # the first of several overloads counts
                for arg in args:
                    if arg.annotation is not None:
                        known.setdefault(arg.arg, arg.annotation)

    def hints(self, name):
        """The annotations of a function that can be resolved here."""
        found = {}
        for parameter, annotation in self.found.get(name, {}).items():
            try:
                code = compile(ast.fix_missing_locations(ast.Expression(annotation)), "<stub>", "eval")
                found[parameter] = eval(code, {"__builtins__": {}}, self.scope)
            except Exception:
                continue
        return found

