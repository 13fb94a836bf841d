"""Which lines and branches of some files a call reaches.

Uses `sys.monitoring` (3.12 and later), otherwise `sys.settrace`. What was reached is a set of features, each a tuple
(path, first line of the code, from, to). A positive `to` is a line; a negative one is an exit or an instruction.
"""
import ast
import dis
import sys
import types


def code_objects(code):
    """A code object and all nested ones."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            for nested in code_objects(constant):
                yield nested


def executable_lines(code):
    """The executable lines of a module's code, without docstrings."""
    lines = set()
    for each in code_objects(code):
        for _, line in dis.findlinestarts(each):
            if line:
                lines.add(line)
    return lines


def function_lines(tree):
    """Lines of the bodies of functions in a syntax tree. All others run at import."""
    return {line for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            for line in range(node.body[0].lineno, node.end_lineno + 1)}


class SetTrace:
    """Lines and arcs between lines of one frame, as seen by `sys.settrace`."""

    def __init__(self, paths):
        self.paths = frozenset(paths)
        self.features = set()
        self.steps = 0  # lines that ran

    def _call(self, frame, event, _arg):
        code = frame.f_code
        path = code.co_filename
        if path not in self.paths:
            return None
        add = self.features.add
        first = code.co_firstlineno
        before, raised = -first, False

        def local(frame, event, _arg):
            nonlocal before, raised
            if event == "line":
                line = frame.f_lineno
                self.steps += 1
                add((path, first, before, line))
                before, raised = line, False
            elif event == "exception":
                raised = True
            elif event == "return" and not raised:
                add((path, first, before, -first))
            return local

        return local

    def start(self):
        self.features = set()
        self.steps = 0
        sys.settrace(self._call)

    def stop(self):
        sys.settrace(None)
        return frozenset(self.features)


class Monitoring:
    """Lines and branches by instruction, as seen by `sys.monitoring`; frames of other files cost nothing."""

    def __init__(self, paths):
        self.paths = frozenset(paths)
        self.features = set()
        self.steps = 0
        self.known = set()
        self.tool = None
        monitoring = sys.monitoring
        for tool in (4, 3, 2, 1):
            if monitoring.get_tool(tool) is None:
                monitoring.use_tool_id(tool, "wavecrew-testgen")
                self.tool = tool
                break
        events = monitoring.events
        self.local_events = events.LINE
        branches = [getattr(events, name, 0) for name in ("BRANCH_LEFT", "BRANCH_RIGHT")]
        if not all(branches):
            branches = [events.BRANCH]
        for event in branches:
            self.local_events |= event
            monitoring.register_callback(self.tool, event, self._branch)
        monitoring.register_callback(self.tool, events.PY_START, self._start)
        monitoring.register_callback(self.tool, events.LINE, self._line)
        monitoring.set_events(self.tool, events.PY_START)

    def _start(self, code, _offset):
        if code.co_filename in self.paths and code not in self.known:
            self.known.add(code)
            sys.monitoring.set_local_events(self.tool, code, self.local_events)
        return sys.monitoring.DISABLE

    def _line(self, code, line):
        self.steps += 1
        self.features.add((code.co_filename, code.co_firstlineno, 0, line))

    def _branch(self, code, offset, destination):
        self.features.add((code.co_filename, code.co_firstlineno, -1 - offset, -1 - destination))

    def start(self):
        self.features = set()
        self.steps = 0

    def stop(self):
        return frozenset(self.features)


def tracer(paths):
    if hasattr(sys, "monitoring"):
        made = Monitoring(paths)
        if made.tool is not None:
            return made
    return SetTrace(paths)


def lines_of(features, path):
    return {feature[3] for feature in features if feature[0] == path and feature[3] > 0}
