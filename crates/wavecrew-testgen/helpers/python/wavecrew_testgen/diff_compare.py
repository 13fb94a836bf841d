"""Whether two versions behaved differently, in which way, and how to say it in a line."""
import re

# An input that one version does not accept shows a changed signature, which the interface diff lists.
SIGNATURE = re.compile(
    r"unexpected keyword argument|positional argument|required keyword-only argument|takes no (keyword )?arguments|multiple values for")
ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
SLOWER, LEAST_STEPS = 25, 20000
MAX_SHOWN = 300
ENDED = ("hangs", "crashes")


def normal(data, roots):
    """The data of an outcome without what differs between two copies of the same code: paths and addresses.

    A version may name the folder of the other one: pieces of tests come from the new version.
    """
    how, facts, wrap, why, explicit, error, random = data
    why = why and _normal_text(why, roots)
    facts = [[place, operator, _normal_text(source, roots)] for place, operator, source in facts]
    if error is not None:
        error = [error[0], _normal_text(error[1], roots), error[2]]
    return [how, facts, wrap, why, explicit, error, random]


def _normal_text(text, roots):
    for root in roots:
        text = text.replace(root, "<project>")
    return ADDRESS.sub("0x…", text)


def kind_of_difference(new, old, new_steps=0, old_steps=0):
    """How two outcomes differ, or None. Outcomes are data."""
    if "refused" in (new[0], old[0]):
        return None
    if new[0] == old[0] and new[0] in ENDED:
        return None
    if "crashes" in (new[0], old[0]):
        return "crash"
    if "hangs" in (new[0], old[0]):
        # What raises early in one version may take long in the other: only an answer shows that a call could end.
        return "hang" if "returns" in (new[0], old[0]) else None
    if new[0] != old[0]:
        raised = new if new[0] == "raises" else old
        return None if _is_signature(raised) else "exception"
    if new[0] == "raises":
        if new[5][0] != old[5][0] or (new[4] or old[4]) and new[5][1] != old[5][1]:
            return None if _is_signature(new) or _is_signature(old) else "exception"
    places = [fact[0] for fact in _only_in(new, old) + _only_in(old, new)]
    if places:
        return _kind_of_place(places)
    if new[2] != old[2]:
        return "value"
    if new[0] == "returns" and new_steps > max(LEAST_STEPS, SLOWER * old_steps):
        return "slow"
    return None


def _only_in(one, other):
    """Facts of one outcome that the other lacks, without those about the exception, which were compared before."""
    known = {tuple(fact) for fact in other[1]}
    return [fact for fact in one[1] if tuple(fact) not in known and fact[0] != "raises"]


def _kind_of_place(places):
    if any(not place.startswith("@") for place in places):
        return "value"
    for start, kind in (("@subject", "state"), ("@out", "output"), ("@pathlib", "files"), ("@cwd", "files")):
        if any(place.startswith(start) for place in places):
            return kind
    return "state" if any("(subject" in place for place in places) else "arguments"


def _is_signature(data):
    return data[5] is not None and data[5][0] == "TypeError" and data[5][2] == 0 and bool(SIGNATURE.search(data[5][1]))


def shown(data, other, kind):
    """One outcome in a line, with what differs from the other one."""
    how, facts, wrap, why, _, error, _ = data
    if how == "hangs":
        return "does not end"
    if how == "crashes":
        return "ends the process"
    if how == "raises" and kind == "exception":
        return _cut("raises %s: %s" % (error[0], error[1]) if error[1] else "raises %s" % error[0])
    differing = _only_in(data, other)
    if kind == "slow":
        return "the same result"
    if not differing:
        differing = facts if how == "returns" and kind in ("exception", "hang", "crash") else []
    parts = [_fact(fact, wrap) for fact in differing[:3]]
    if len(differing) > 3:
        parts.append("…")
    if not parts:
        parts = ["nothing" if kind in ("output", "files", "arguments", "state") else "a %s" % ("plain value" if wrap == "{}" else "generator")]
    return _cut("; ".join(parts))


def _fact(fact, wrap):
    place, operator, source = fact
    if operator == "type":
        source = "an object of type %s" % source
    if operator == "raises":
        source = "raises %s" % source
    if source == "@subject":
        source = "the object itself"
    if place == "{}":
        return source if wrap in ("{}", "with {}") else "%s → %s" % (wrap.format("…"), source)
    place = place.lstrip("@").replace("{}", "result")
    if place == "out":
        return "prints %s" % source
    return "%s %s %s" % (place, "is" if operator in ("type", "is", "raises") else "==", source)


def _cut(text):
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN - 1] + "…"
