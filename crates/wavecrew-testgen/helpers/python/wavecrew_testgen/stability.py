"""Keeps the cases with the same outcome in new processes with other hash seeds, time zones, orders and dates."""
import ast
import random

from . import child_process
from .cases import Case
from .render import Entry

ZONES = ("America/St_Johns", "Asia/Kolkata")
HASH_SEEDS = (3, 20, 511, 70001, 999983)
MAX_CORPUS = 400
AGAIN_SHARE = 0.3  # of the budget, for a second search
HASHING = ("set", "frozenset", "hash", "id")


def uses_hashing(tree):
    """Whether results of a module may depend on the order of sets."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Set, ast.SetComp)):
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in HASHING:
            return True
    return False


def stable_entries(module, result):
    """The stable ones of the kept cases, and replacements for the others."""
    kept = _stable_in_all(module, _entries_of(result), result)
    if len(kept) == len(result["kept"]) or result["clock"] or module.must_run_tests():
        return kept
    return kept + _replacements(module, kept, result)


def _entries_of(result, first=0):
    return [
        Entry(number, Case.of(case), outcome, result["targets"][case[0]])
        for number, (case, outcome) in enumerate(result["kept"], first)]


def _stable_in_all(module, found, result):
    runs = [(1, ZONES[0], False), (4242, ZONES[1], bool(result["clock"]))]
    if module.uses_hashing:  # two items of a set have the same order in every second process
        runs += [(hash_seed, ZONES[0], False) for hash_seed in HASH_SEEDS]
    before = len(found)
    for hash_seed, zone, shifted in runs:
        if hash_seed in HASH_SEEDS and module.must_run_tests():
            break
        order = [[entry.number, entry.case.data()] for entry in found]
        if not order:
            break
        random.Random(hash_seed).shuffle(order)
        seen = _outcomes(module, order, result, hash_seed, zone, shifted)
        found = [entry for entry in found if _same(entry, seen.get(entry.number))]
    if len(found) < before:
        module.drop(module.name, "%d results depend on time zone, date, hash seed or order" % (before - len(found)))
    return found


def _same(entry, second):
    return second is not None and second[0] == entry.how and [tuple(fact) for fact in second[1]] == entry.facts


def _outcomes(module, cases, result, hash_seed, zone, shifted=False):
    """The outcomes of numbered cases in a new process, by number."""
    ended = child_process.run(
        module.child_request(
            mode="check", cases=cases, seconds=max(20.0, module.request["budget"]), shift_clock=shifted,
            importable=[[home, name] for name, home in result["origin"].items()]),
        lambda event: None, hash_seed, zone)
    return {event["number"]: event["outcome"] for event in ended.events_named("outcome")}


def _replacements(module, kept, result):
    """What a shorter search finds for targets that lost cases, without the cases that are known to be unstable."""
    cases = list(enumerate(module.corpus[-MAX_CORPUS:]))
    one, other = (_outcomes(module, cases, result, *where) for where in ((1, ZONES[0]), (4242, ZONES[1])))
    unstable = [case for number, case in cases if one.get(number) != other.get(number)]
    second = child_process.run(
        module.child_request(
            seconds=max(1.0, module.request["budget"] * AGAIN_SHARE), seed=module.request["seed"] + 1,
            corpus=[case for _, case in cases if case not in unstable], excluded=module.excluded + unstable,
            abandoned=module.abandoned),
        module.on_event).last_event("result")
    if second is None:
        return []
    result["targets"].update(second["targets"])
    result["origin"].update(second["origin"])
    known = {entry.case for entry in kept}
    targets_with_losses = {data[0] for data, _ in result["kept"] if Case.of(data) not in known}
    found = _entries_of(second, len(result["kept"]))
    return _stable_in_all(
        module, [entry for entry in found if entry.case.target in targets_with_losses and entry.case not in known], result)
