"""Keeps what comes out the same in fresh processes with other hash seeds, time zones, orders and dates."""
import ast
import random

from . import child_process
from .cases import Case
from .render import Entry

ZONES = ("America/St_Johns", "Asia/Kolkata")
HASH_SEEDS = (3, 20, 511, 70001, 999983)
MOST_CORPUS = 400
AGAIN_SHARE = 0.3  # of the budget, for a second search
HASHING = ("set", "frozenset", "hash", "id")


def hashes(tree):
    """Whether what a module does may depend on the order of sets."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Set, ast.SetComp)):
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in HASHING:
            return True
    return False


def entries(module, result):
    """The chosen cases that come out the same everywhere; others are looked for in the place of those that do not."""
    kept = _same_everywhere(module, _entries(result), result)
    if len(kept) == len(result["kept"]) or result["clock"]:
        return kept
    return kept + _others(module, kept, result)


def _entries(result, first=0):
    return [
        Entry(number, Case.of(case), outcome, result["targets"][case[0]])
        for number, (case, outcome) in enumerate(result["kept"], first)]


def _same_everywhere(module, found, result):
    runs = [(1, ZONES[0], False), (4242, ZONES[1], bool(result["clock"]))]
    if module.hashes:  # two of a set stand in the same order in every second process
        runs += [(hash_seed, ZONES[0], False) for hash_seed in HASH_SEEDS]
    before = len(found)
    for hash_seed, zone, shifted in runs:
        order = [[entry.number, entry.case.data()] for entry in found]
        if not order:
            break
        random.Random(hash_seed).shuffle(order)
        seen = _seen(module, order, result, hash_seed, zone, shifted)
        found = [entry for entry in found if _same(entry, seen.get(entry.number))]
    if len(found) < before:
        module.leave_out(module.name, "%d results depend on time zone, date, hash seed or order" % (before - len(found)))
    return found


def _same(entry, again):
    return again is not None and again[0] == entry.how and [tuple(fact) for fact in again[1]] == entry.facts


def _seen(module, cases, result, hash_seed, zone, shifted=False):
    """What comes of numbered cases in a fresh process, by number."""
    ended = child_process.run(
        module.child_request(
            mode="check", cases=cases, seconds=max(20.0, module.request["budget"]), shift_clock=shifted,
            adopted=[[home, name] for name, home in result["origin"].items()]),
        lambda event: None, hash_seed, zone)
    return {event["number"]: event["outcome"] for event in ended.all("outcome")}


def _others(module, kept, result):
    """What a shorter search finds for the targets that lost cases, without all that are known to come out differently."""
    cases = list(enumerate(module.corpus[-MOST_CORPUS:]))
    one, other = (_seen(module, cases, result, *where) for where in ((1, ZONES[0]), (4242, ZONES[1])))
    unsteady = [case for number, case in cases if one.get(number) != other.get(number)]
    again = child_process.run(
        module.child_request(
            seconds=max(1.0, module.request["budget"] * AGAIN_SHARE), seed=module.request["seed"] + 1,
            corpus=[case for _, case in cases if case not in unsteady], excluded=module.excluded + unsteady,
            given_up=module.given_up),
        module.heard).last("result")
    if again is None:
        return []
    result["targets"].update(again["targets"])
    result["origin"].update(again["origin"])
    known = {entry.case for entry in kept}
    losers = {data[0] for data, _ in result["kept"] if Case.of(data) not in known}
    found = _entries(again, len(result["kept"]))
    return _same_everywhere(
        module, [entry for entry in found if entry.case.target in losers and entry.case not in known], result)
