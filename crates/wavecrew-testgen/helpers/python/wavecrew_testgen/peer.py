"""The old version in a process of its own. It answers with the outcome of each case that the search runs on the new one.

Both sides write JSON lines to a pair of sockets. When the old version's process ends, the driver answers in its place.
"""
import json
import os
import select

from .cases import Case

BEAT_SECONDS = 5.0


class Lines:
    """JSON lines on a descriptor."""

    def __init__(self, descriptor):
        self.descriptor = descriptor
        self.pending = b""

    def write(self, data):
        line = json.dumps(data).encode() + b"\n"
        while line:
            line = line[os.write(self.descriptor, line):]

    def read(self):
        """The next line, or None when the other side is gone."""
        while b"\n" not in self.pending:
            data = os.read(self.descriptor, 1 << 16)
            if not data:
                return None
            self.pending += data
        line, self.pending = self.pending.split(b"\n", 1)
        return json.loads(line)


class PeerGone(Exception):
    """The old version cannot answer any more."""


class Peer:
    """The old version, as the search sees it."""

    def __init__(self, descriptor):
        self.lines = Lines(descriptor)
        self.features = {}

    def wait_until_ready(self):
        """Waits for the import of the old version. Raises `PeerGone` with the reason when it fails."""
        return self._read()

    def ask(self, case):
        """What the old version does: the data of an outcome, what it reached and how many lines ran."""
        self.lines.write({"case": case.data()})
        answer = self._read()
        if "crash" in answer:
            return ["crashes", [], "{}", answer["crash"], False, None, False], frozenset(), 0
        if "reached" in answer:
            self.features[answer["features"]] = frozenset(("old",) + tuple(each) for each in answer["reached"])
        return answer["outcome"], self.features.get(answer["features"], frozenset()), answer["steps"]

    def _read(self):
        answer = self.lines.read()
        if answer is None or "gone" in answer:
            raise PeerGone(answer["gone"] if answer else "its process ended")
        return answer


def serve(session, descriptor):
    """Runs cases for the other process until it is gone."""
    lines = Lines(descriptor)
    known = {}
    lines.write({"ready": sorted(session.runner.targets)})
    beat = Case("", ())
    while True:
        if not lines.pending and not select.select([descriptor], [], [], BEAT_SECONDS)[0]:
            session.report.record_call(beat)  # idle, not hanging
            continue
        asked = lines.read()
        if asked is None:
            return
        case = Case.of(asked["case"])
        session.report.record_call(case)
        data, features, steps = session.observe(case)
        answer = {"outcome": data, "steps": steps}
        if features not in known:
            known[features] = len(known)
            answer["reached"] = [list(feature) for feature in features]
        answer["features"] = known[features]
        lines.write(answer)
