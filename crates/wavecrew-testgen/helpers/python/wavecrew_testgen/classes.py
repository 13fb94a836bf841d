"""How to construct objects of a class: by its constructor, by functions that return it, or as a substitute."""
import dataclasses
import enum
import inspect
import typing

from .cases import arguments
from .type_hints import ANY

MAX_KNOWN = 30
FIXTURE_SHARE = 0.4


class Classes:
    """Remembers expressions that worked, so that later ones can vary them."""

    def __init__(self, names, analysis):
        self.names = names
        self.analysis = analysis
        self.makers = {}
        self.working_expressions = {}
        self.fixtures = {}  # names of fixtures
        self.fixture_share = FIXTURE_SHARE  # share of objects and arguments that come from fixtures
        for target in analysis.targets:
            if target.how in ("function", "static") and target.public:
                result = self._result(target)
                if result is not None:
                    self.makers.setdefault(result, []).append(target)

    def _result(self, target):
        from .targets import hints_of

        result = hints_of(target.function, self.analysis.module).get("return")
        if isinstance(result, typing.TypeVar):
            result = result.__bound__
        if isinstance(result, typing.ForwardRef):
            result = getattr(self.analysis.module, result.__forward_arg__, None)
        if isinstance(result, type) and result.__module__ != "builtins":
            return result
        if target.how == "static" and target.owner is not None:
            bound = getattr(target.function, "__self__", None)
            if bound is target.owner:
                return target.owner
        return None

    def remember(self, kind, expression):
        known = self.working_expressions.setdefault(kind, [])
        if expression not in known and len(expression) < 150:
            known.append(expression)
            if len(known) > MAX_KNOWN:
                known.pop(len(known) // 2)

    def expression(self, kind, maker, pool, depth):
        """An expression that should construct an object, or None."""
        rng = maker.rng
        fixture_names = self.fixtures.get(kind)
        if fixture_names and rng.random() < self.fixture_share:
            return rng.choice(fixture_names)
        if isinstance(kind, enum.EnumMeta) and len(kind) and self.names.name_of(kind):
            return "%s.%s" % (self.names.name_of(kind), rng.choice(list(kind)).name)
        known = self.working_expressions.get(kind)
        if known and rng.random() < 0.5:
            return rng.choice(known)
        if depth > 3:
            return rng.choice(known) if known else None
        if typing.is_typeddict(kind) if hasattr(typing, "is_typeddict") else hasattr(kind, "__total__"):
            return self._typed_dict(kind, maker, pool, depth)
        if getattr(kind, "_is_protocol", False) or inspect.isabstract(kind):
            return self._substitute(kind, maker, pool, depth)
        made = [target for target in self.makers.get(kind, ()) if target.owner is None or target.owner is kind]
        if made and rng.random() < 0.4:
            target = rng.choice(made)
            return "%s(%s)" % (target.qualified_name, arguments(self.arguments(target, maker, pool, depth + 1)))
        target = self.target_of(kind)
        if target is None:
            return None
        return "%s(%s)" % (target.qualified_name, arguments(self.arguments(target, maker, pool, depth + 1)))

    def target_of(self, kind):
        for target in self.analysis.targets:
            if target.how == "class" and target.owner is kind:
                return target
        name = self.names.make_importable(kind)
        if name is None or kind.__module__ == "builtins":
            return None
        from .targets import Target

        try:
            parameters = self.analysis._parameters(kind, None, "class")
        except Exception:
            return None
        if parameters is None:
            return None
        target = Target("made:" + name, name, kind, "class", kind, parameters, False)
        target.qualified_name = name
        return target

    def arguments(self, target, maker, pool, depth=0):
        """Arguments for a target: all required ones and some of the others."""
        rng = maker.rng
        args = []
        skipped = False
        eager = rng.choice((0.15, 0.5, 0.85))
        for parameter in target.parameters:
            if parameter.style == "many":
                if not skipped:
                    for _ in range(rng.choice((0, 1, 1, 2, 3))):
                        args.append((None, self.value(parameter, maker, pool, depth)))
                continue
            if parameter.style == "named":
                if rng.random() < 0.15 and pool.strings:
                    word = rng.choice(pool.strings)
                    if word.isidentifier() and word not in [p.name for p in target.parameters]:
                        args.append((word, self.value(parameter, maker, pool, depth)))
                continue
            if not parameter.required and rng.random() > eager:
                skipped = True
                continue
            name = parameter.name if skipped or parameter.style == "keyword" else None
            if name is None and not parameter.required and any(p.style == "many" for p in target.parameters) is False:
                name = parameter.name
            args.append((name, self.value(parameter, maker, pool, depth)))
        seen = set()
        ordered = [a for a in args if a[0] is None] + [a for a in args if a[0] is not None]
        return [a for a in ordered if a[0] is None or not (a[0] in seen or seen.add(a[0]))]

    def value(self, parameter, maker, pool, depth=0):
        rng = maker.rng
        if parameter.fixtures and rng.random() < self.fixture_share:
            return rng.choice(parameter.fixtures)
        total = sum(weight for _, weight in parameter.kinds)
        at = rng.random() * total
        for kind, weight in parameter.kinds:
            at -= weight
            if at <= 0:
                break
        return maker.make(kind, pool, depth)

    def _typed_dict(self, kind, maker, pool, depth):
        from .type_hints import kind_of_annotation

        try:
            hints = typing.get_type_hints(kind)
        except Exception:
            return "{}"
        required = getattr(kind, "__required_keys__", hints)
        pairs = [
            "%r: %s" % (name, maker.make(kind_of_annotation(hint), pool, depth + 1))
            for name, hint in hints.items() if name in required or maker.rng.random() < 0.5
        ]
        return "{" + ", ".join(pairs) + "}"

    def _substitute(self, kind, maker, pool, depth):
        """A concrete subclass from the module, or an object with the attributes of a protocol."""
        subclasses = [s for s in kind.__subclasses__() if not inspect.isabstract(s) and self.names.name_of(s)]
        if subclasses:
            return self.expression(maker.rng.choice(subclasses), maker, pool, depth + 1)
        from .type_hints import kind_of_annotation

        parts = []
        try:
            hints = typing.get_type_hints(kind)
        except Exception:
            hints = {}
        for name, hint in hints.items():
            parts.append("%s=%s" % (name, maker.make(kind_of_annotation(hint), pool, depth + 1)))
        for name, item in vars(kind).items():
            if inspect.isfunction(item) and not name.startswith("_"):
                result = kind_of_annotation(getattr(item, "__annotations__", {}).get("return", inspect.Parameter.empty))
                parts.append("%s=lambda *args: %s" % (name, maker.make(result if result != ANY else ("int",), pool, depth + 1)))
        return "types.SimpleNamespace(%s)" % ", ".join(parts)


def is_data(kind):
    return dataclasses.is_dataclass(kind)
