"""Mutants and code replacement."""
import ast
import sys
import types

import pytest

from wavecrew_testgen import mutants
from wavecrew_testgen.run import Outcome
from wavecrew_testgen.code_replacement import CodeReplacer


def functions(source):
    return [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(a):\n    return a < 3", {"Lt to LtE", "Lt to GtE", "3 to 4", "3 to 2", "returns None"}),
        ("def f(a):\n    'doc'\n    return not a", {"without Not", "returns None"}),
        ("def f(a: 'int' = 5) -> 'str':\n    a += 1", {"Add to Sub", "1 to 2", "1 to 0"}),
        ("def f(a):\n    while a:\n        break", {"condition negated", "condition false", "break/continue"}),
    ],
)
def test_mutants_of_a_function(source, expected):
    assert {mutant.what for mutant in mutants.find_mutants(functions(source))} == expected


def test_every_mutant_compiles_and_is_reverted():
    source = "def f(a, b=2):\n    if a and b:\n        return [x for x in a if x != b][:1]\n    a.append(not b)\n"
    source += "    while a[0] < 3 or b:\n        a[0] += -1\n        break\n    b = 'x'.lower()\n    raise ValueError('no')\n"
    original = functions(source)[0]
    before = ast.dump(original)
    found = mutants.find_mutants([original])
    assert len(found) > 25
    for mutant in found:
        with mutants.Applied(mutant) as changed:
            assert ast.dump(changed) != before
            compile(ast.Module(body=[changed], type_ignores=[]), "<test>", "exec")
        assert ast.dump(original) == before


@pytest.fixture
def module(tmp_path):
    path = str(tmp_path / "swapped.py")
    source = (
        "import functools\n\nclass A:\n    def __init__(self):\n        self.__x = 1\n    def get(self):\n"
        "        return self.__x + 1\n\n@functools.lru_cache()\ndef cached(n):\n    return n + 1\n"
    )
    made = types.ModuleType("swapped")
    exec(compile(source, path, "exec"), vars(made))
    return made, path, ast.parse(source)


def test_replaced_code_runs_and_is_restored(module):
    made, path, tree = module
    replacer = CodeReplacer(path, tree)
    get = tree.body[1].body[1]
    mutant = [m for m in mutants.find_mutants([get]) if m.what == "Add to Sub"][0]
    assert made.A().get() == 2
    with mutants.Applied(mutant) as function:
        assert replacer.replace(replacer.compile(function))
    assert made.A().get() == 0
    replacer.restore()
    assert made.A().get() == 2


def test_caches_do_not_hide_a_mutant(module):
    made, path, tree = module
    replacer = CodeReplacer(path, tree)
    assert made.cached(1) == 2
    mutant = [m for m in mutants.find_mutants([tree.body[2]]) if m.what == "Add to Sub"][0]
    with mutants.Applied(mutant) as function:
        assert replacer.replace(replacer.compile(function))
    assert made.cached(1) == 0
    replacer.restore()
    assert made.cached(1) == 2


@pytest.mark.parametrize(
    ("facts", "others", "killed"),
    [
        ([("{}", "==", "1")], [("{}", "==", "2")], True),
        ([("{}", "==", "1")], [("{}", "==", "1"), ("@a0", "==", "[]")], False),
        ([("{}", "==", "1"), ("@a0", "==", "[]")], [("{}", "==", "1")], True),
        ([("raises", "ValueError", "")], [("raises", "ValueError", "more")], False),
        ([("raises", "ValueError", "less")], [("raises", "ValueError", "more")], True),
        ([("raises", "ValueError", "")], [("raises", "KeyError", "")], True),
    ],
)
def test_only_asserted_facts_kill_a_mutant(facts, others, killed):
    how = "raises" if facts[0][0] == "raises" else "returns"
    assert Outcome(how, tuple(facts)).test_fails_on(Outcome(how, tuple(others))) is killed


@pytest.mark.skipif(sys.version_info < (3, 8), reason="syntax of 3.8")
def test_positional_only_parameters_and_assignment_expressions():
    source = "def f(a, /, b):\n    if (n := a + b) > 3:\n        return n\n    return 0\n"
    for mutant in mutants.find_mutants(functions(source)):
        with mutants.Applied(mutant) as function:
            compile(ast.Module(body=[function], type_ignores=[]), "<test>", "exec")
