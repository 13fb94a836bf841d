"""Renders test files: parametrised tables for simple inputs, single tests for others."""
import ast
import re

from . import naming
from .assertions import asserts
from .cases import arguments, method_call, method_statement, subject_name
from .names import STANDARD, fixtures_used, used_names
from .style import DEFAULT_WIDTH

MAX_NAME = 100
MEMBER = re.compile(r"[A-Z]\w*\.[A-Z][A-Z0-9_]*$")  # a member of an enumeration, which needs no construction
RESERVED = {"request", "capsys", "tmp_path", "monkeypatch", "pytest", "expected", "message", "result"}


class Entry:
    """A case with its outcome, and the id of its test."""

    def __init__(self, number, case, outcome, target):
        self.number = number
        self.case = case
        self.how, self.facts, self.wrap, self.why, self.explicit, self.error, self.random = outcome
        self.facts = [tuple(fact) for fact in self.facts]
        self.target = target
        self.test = None


class Writer:
    def __init__(self, module, targets, origin, docstring, fixtures=(), width=DEFAULT_WIDTH):
        self.module = module
        self.targets = targets
        self.origin = origin
        self.docstring = docstring
        self.width = width
        self.parametrised = dict(fixtures)  # by fixture: its parametrised dependencies, with the value to use
        self.fixtures = frozenset(fixtures)
        self.taken = set()

    def asserting(self, entries):
        """The entries whose tests assert something that can fail."""
        self.taken = set(self.origin)
        return [entry for entry in entries if asserts(self._single(entry))]

    def text(self, entries):
        """The whole file. Sets `test` of each entry to the id of its test."""
        self.taken = set(self.origin)
        bodies = []
        order = []
        groups = {}
        for entry in entries:
            key = self._group(entry)
            if key not in groups:
                groups[key] = []
                order.append(key)
            groups[key].append(entry)
        position = {target: number for number, target in enumerate(self.targets)}
        order.sort(key=lambda key: (position[key[0]], 0 if key[1] != "single" else 1))
        for key in order:
            group = groups[key]
            if key[1] in ("returns", "raises") and len(group) > 1:
                bodies.append(self._table(group, key[1]))
            else:
                bodies.extend(self._single(entry) for entry in group)
        body = "\n\n\n".join(bodies)
        return "%s\n%s\n\n%s\n" % (self._header(), self._imports(body), "\n" + body)

    def _group(self, entry):
        case = entry.case
        names = tuple(name for name, _ in case.args)
        # A `with` statement cannot be part of a table.
        plain = case.receiver is None and entry.wrap != "with {}" and not any(fact[0].startswith("@") for fact in entry.facts)
        sources = [source for _, source in case.args] + [fact[2] for fact in entry.facts if fact[0] != "raises"]
        named = self.fixtures.union(self.origin)
        plain = plain and case.args and not any(used_names(s) & named for s in sources if not MEMBER.match(s))
        if plain and entry.how == "returns" and len(entry.facts) == 1 and entry.facts[0][0] == "{}":
            fact = entry.facts[0]
            if fact[1] == "==" or fact[2] in ("True", "False"):
                return (case.target, "returns", names, entry.wrap, fact[1], entry.random)
        if plain and entry.how == "raises":
            fact = entry.facts[0]
            return (case.target, "raises", names, entry.wrap, fact[1], bool(fact[2]), entry.random)
        return (case.target, "single", entry.number)

    # -- tables ------------------------------------------------------------------------------------------------------

    def _table(self, group, how):
        first = group[0]
        columns = self._columns(first)
        call = first.wrap.format("%s(%s)" % (
            first.target["qualified_name"], arguments([(n, c) for (n, _), c in zip(first.case.args, columns)])))
        name = naming.unique(self._table_names(first), self.taken)
        rows, ids = [], set()
        for entry in group:
            cells = [source for _, source in entry.case.args]
            if how == "returns":
                cells.append(entry.facts[0][2])
            elif first.facts[0][2]:
                cells.append(naming.pattern(entry.facts[0][2]))
            word = naming.unique(_row_ids(entry), ids)
            entry.test = "%s[%s]" % (name, word)
            rows.append('        pytest.param(%s, id="%s"),' % (", ".join(cells), word))
        if how == "returns":
            columns = columns + ["expected"]
            body = "    assert %s %s expected" % (call, first.facts[0][1])
        elif first.facts[0][2]:
            columns = columns + ["message"]
            body = "    with pytest.raises(%s, match=message):\n        %s" % (first.facts[0][1], call)
        else:
            body = "    with pytest.raises(%s):\n        %s" % (first.facts[0][1], call)
        if first.random:
            body = "    random.seed(0)\n" + body
        listed = '"%s"' % columns[0] if len(columns) == 1 else "(%s)" % ", ".join('"%s"' % c for c in columns)
        return "@pytest.mark.parametrize(\n    %s,\n    [\n%s\n    ],\n)\ndef %s(%s):\n%s" % (
            listed, "\n".join(rows), name, ", ".join(columns), body)

    def _columns(self, entry):
        """Column names: the names of the parameters."""
        parameters = entry.target["parameters"]
        plain = [name for name, style in parameters if style == "plain"]
        many = [name for name, style in parameters if style == "many"]
        columns, taken = [], set(RESERVED) | {entry.target["qualified_name"].split(".")[0]} | set(re.findall(r"\w+", entry.wrap))
        used_fixtures = fixtures_used(entry.case, self.fixtures)
        position = 0
        for name, source in entry.case.args:
            if name is None:
                if position < len(plain):
                    name = plain[position]
                else:
                    name = "%s_%d" % (many[0] if many else "arg", position - len(plain) + 1)
                position += 1
            if source in used_fixtures:
                name = source
            elif name in taken or name in STANDARD or name in used_fixtures:
                name += "_"
            columns.append(name)
            taken.add(columns[-1])
        return columns

    # -- single tests ------------------------------------------------------------------------------------------------

    def _subject(self, case, target):
        """The variable for the object: the name of its fixture, if it has one."""
        if case.receiver in self.fixtures:
            return case.receiver
        name = self._variable(target["owner"] or "")
        return "subject" if name in fixtures_used(case, self.fixtures) else name

    def _variable(self, owner):
        """The variable for an object of a class, unless the module has something of that name."""
        name = subject_name(owner)
        return "subject" if name in self.origin else name

    def _single(self, entry):
        case, target = entry.case, entry.target
        lines = ["random.seed(0)"] if entry.random else []
        fixtures = fixtures_used(case, self.fixtures)
        columns = self._columns(entry)
        shown = {re.sub(r"^@(\w+\()?|[.)].*$", "", fact[0]) for fact in entry.facts if fact[0].startswith("@")}
        args = []
        for index, ((name, source), column) in enumerate(zip(case.args, columns)):
            if "a%d" % index in shown:
                if column != source:
                    lines.append("%s = %s" % (column, source))
                source = column
            args.append((name, source))
        returns_itself = ("{}", "is", "@subject") in entry.facts
        call = self._call(case, target, args, lines, "subject" in shown or returns_itself)
        subject = self._subject(case, target) if case.receiver is not None else ""
        name = naming.unique(self._single_names(entry), self.taken)
        if entry.how == "raises":
            fact = entry.facts[0]
            match = ", match=%s" % naming.pattern(fact[2]) if fact[2] else ""
            lines.append("with pytest.raises(%s%s):" % (fact[1], match))
            if entry.wrap == "with {}":
                lines.append("    with %s:" % call)
                lines.append("        pass")
            else:
                lines.append("    " + entry.wrap.format(call))
            rest = entry.facts[1:]
        else:
            rest = self._result(entry, call, lines, subject)
        for place, operator, expected in rest:
            if place == "@out":
                fixtures.append("capsys")
                lines.append("assert capsys.readouterr().out == %s" % expected)
                continue
            if place == "@cwd":
                fixtures += ["monkeypatch", "tmp_path"]
                lines.insert(0, "monkeypatch.chdir(tmp_path)")
                continue
            place = place[1:]
            argument = re.match(r"a(\d+)(?=\.|$)", place)
            if re.match(r"(\w+\()?subject\b", place):
                place = place.replace("subject", subject, 1)
            elif argument:
                place = columns[int(argument.group(1))] + place[argument.end():]
            lines.append(self._assertion(place, operator, expected))
        values = dict(pair for fixture in fixtures for pair in self.parametrised.get(fixture, ()))
        ids = [naming.describe(source) for source in values.values()]
        entry.test = "%s[%s]" % (name, "-".join(reversed(ids))) if ids else name
        marks = "".join(
            '@pytest.mark.parametrize("%s", [pytest.param(%s, id="%s")], indirect=True)\n' % (fixture, source, word)
            for (fixture, source), word in zip(values.items(), ids))
        return "%sdef %s(%s):\n%s" % (marks, name, ", ".join(fixtures), "\n".join("    " + line for line in lines))

    def _call(self, case, target, args, lines, keeps_subject):
        if case.receiver is None:
            return "%s(%s)" % (target["qualified_name"], arguments(args))
        subject = case.receiver
        plain = MEMBER.match(subject) or re.match(r"^[\w.]+\(", subject) and subject.endswith(")")
        if case.steps or keeps_subject or not plain or target["name"].startswith("__"):
            name = self._subject(case, target)
            if name != subject:
                lines.append("%s = %s" % (name, subject))
            for step, step_args in case.steps:
                lines.append(method_statement(name, step, step_args))
            subject = name
        if target["how"] == "property":
            return "%s.%s" % (subject, target["name"])
        if target["how"] == "setter":
            return "%s.%s = %s" % (subject, target["name"], args[0][1])
        return method_statement(subject, target["name"], args)

    def _result(self, entry, call, lines, subject):
        own = [fact if fact[2] != "@subject" else fact[:2] + (subject,) for fact in entry.facts if not fact[0].startswith("@")]
        rest = [fact for fact in entry.facts if fact[0].startswith("@")]
        if entry.wrap == "with {}":
            lines.append("with %s as value:" % call)
            lines.extend("    " + self._assertion(place.format("value"), op, exp) for place, op, exp in own)
            return rest
        call = entry.wrap.format(call)
        if own == [("{}", "is", "None")] and (rest and not entry.target["returns_value"] or not _is_expression(call)):
            lines.append(call)  # its effects are asserted instead
        elif len(own) == 1:
            whole = own[0][0] == "{}" and own[0][1] in ("==", "is") and _is_arithmetic(call)
            lines.append(self._assertion(call if whole else own[0][0].format(_bracket(call)), own[0][1], own[0][2]))
        else:
            name = "result"
            if entry.target["how"] == "class":
                name = self._variable(entry.target["owner"])
                own = [fact for fact in own if fact[1] != "type" or len(own) == 1]  # a constructor returns its class
            lines.append("%s = %s" % (name, call))
            lines.extend(self._assertion(place.format(name), op, exp) for place, op, exp in own)
        return rest

    def _assertion(self, place, operator, expected):
        if operator == "raises":
            return "with pytest.raises(%s):\n        %s" % (expected, place)
        if operator == "type" and expected in self.origin:
            return "assert isinstance(%s, %s)" % (_unbracketed(place), expected)
        contains = _contains(place) if operator == "is" and expected in ("True", "False") else None
        if contains is not None:
            return "assert %s %s %s" % (contains[0], "in" if expected == "True" else "not in", contains[1])
        if operator == "type":
            return "assert type(%s).__name__ == %r" % (place, expected)
        return "assert %s %s %s" % (place, operator, expected)

    def _single_names(self, entry):
        """Names for a single test, the shortest first."""
        case = entry.case
        base = self._name(entry)
        sources = [source for _, source in case.args]
        described = naming.slug("_".join(map(naming.describe, sources[:2])), 30)
        short = "%s_for_%s" % (base, described) if described else base
        names = [short]
        made = naming.slug((case.receiver or "").partition("(")[2] or case.receiver or "", 24)
        if made:
            names.append("%s_on_%s" % (short, made))
        if sources:
            names.append("%s_for_%s" % (base, "_and_".join(map(naming.detail, sources))))
        results = [naming.describe(fact[2]) for fact in entry.facts if fact[0] != "raises"]
        names += ["%s_gives_%s" % (name, results[0]) for name in list(names) if results]
        if case.steps:
            steps = [word for step, args in case.steps for word in [step.strip("_")] + [naming.describe(s) for _, s in args]]
            names.append("%s_after_%s" % (short.replace("_after_", "_"), naming.slug("_".join(steps), 60)))
        return [re.sub(r"_+", "_", name)[:MAX_NAME].rstrip("_") for name in names]

    def _table_names(self, entry):
        """Names for a table, the shortest first."""
        short = self._name(entry)
        names = [short, "%s_with_%d_arguments" % (short, len(entry.case.args))]
        if entry.how == "raises":
            return names + ["%s_with_message" % short, "%s_with_message_and_%d_arguments" % (short, len(entry.case.args))]
        words = ["flags" if entry.facts[0][1] == "is" else "values"] + ["items"] * (entry.wrap != "{}")
        return names + ["%s_%s" % (name, "_".join(words)) for name in names]

    def _name(self, entry):
        """The name of a test, such as `test_slugify_with_separator` or `test_parse_raises_value_error`."""
        target = entry.target
        base = naming.snake(target["qualified_name"].replace("__", ""))
        if target["how"] == "class":
            base = naming.snake(target["name"]) + "_object"
        parts = ["test", base]
        used_fixtures = [name for name, _ in entry.case.args if name is not None]
        if used_fixtures and len(used_fixtures) <= 3:
            parts.append("with_" + "_and_".join(naming.snake(name) for name in used_fixtures))
        elif used_fixtures:
            parts.append("with_%d_options" % len(used_fixtures))
        if entry.case.steps:
            before = dict.fromkeys(naming.snake(name.strip("_")) for name, _ in entry.case.steps)
            parts.append("after_" + "_and_".join(list(before)[:2]))
        if entry.how == "raises":
            parts.append("raises_" + naming.snake(entry.facts[0][1].split(".")[-1]))
        return re.sub(r"_+", "_", "_".join(parts))[:MAX_NAME].rstrip("_")

    # -- the top of the file -----------------------------------------------------------------------------------------

    def _header(self):
        return '"""%s"""\n' % self.docstring

    def _imports(self, body):
        used = used_names(body)
        lines = ["import %s" % name for name in STANDARD if name in used and name not in self.origin]
        text = "\n".join(lines)
        if "pytest" in used:
            text += ("\n\n" if text else "") + "import pytest"
        homes = {}
        for name in sorted(used):
            if name in self.origin:
                homes.setdefault(self.origin[name], []).append(name)
        imports = []
        for home in sorted(homes):
            line = "from %s import %s" % (home, ", ".join(homes[home]))
            if len(line) > self.width:
                line = "from %s import (\n    %s,\n)" % (home, ",\n    ".join(homes[home]))
            imports.append(line)
        if imports:
            text += ("\n\n" if text else "") + "\n".join(imports)
        if "asyncio.run(collect(" in body:
            text += "\n\n\nasync def collect(items):\n    return [item async for item in items]"
        return text


def _row_ids(entry):
    """Ids for a row of a table, the shortest first."""
    sources = [source for _, source in entry.case.args]
    short = "_".join(map(naming.describe, sources))[:60].rstrip("_") or "case"
    longer = "_and_".join(map(naming.detail, sources))[:90].rstrip("_")
    result = [naming.describe(fact[2]) for fact in entry.facts if fact[0] != "raises"] or [naming.slug(entry.facts[0][2], 40)]
    return [short, longer] + ["%s_gives_%s" % (word, result[0]) for word in (short, longer) if result[0]]


def _is_expression(call):
    try:
        ast.parse(call, mode="eval")
    except SyntaxError:
        return False
    return True


def _unbracketed(place):
    return place[1:-1] if place.startswith("(") and _bracket(place[1:-1]) == place else place


def _contains(place):
    """The item and the container of a membership test in brackets, as source text."""
    if not (place.startswith("(") and place.endswith(")")):
        return None
    tree = ast.parse(place, mode="eval").body
    if not isinstance(tree, ast.Compare) or not isinstance(tree.ops[0], ast.In) or len(tree.ops) > 1:
        return None
    text = place.encode()
    sides = (tree.left, tree.comparators[0])
    return tuple(_bracket(text[side.col_offset:side.end_col_offset].decode()) for side in sides)


def _is_arithmetic(call):
    """Whether operators of a call come before a comparison, so that it needs no brackets."""
    tree = ast.parse(call, mode="eval").body
    return isinstance(tree, ast.BinOp) or isinstance(tree, ast.UnaryOp) and not isinstance(tree.op, ast.Not)


def _bracket(call):
    """Adds brackets around operators, so that the assertion is not a chained comparison."""
    tree = ast.parse(call, mode="eval").body
    return "(%s)" % call if isinstance(tree, (ast.Compare, ast.BinOp, ast.UnaryOp, ast.BoolOp)) else call
