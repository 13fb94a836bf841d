"""Lines of each target that no call has reached."""


class Uncovered:
    """Counts the unreached lines of each target. Caches the counts until something new is reached."""

    def __init__(self, search, targets, counted):
        self.search = search
        self.inside = {
            target.key: [line for line in counted if target.lines[0] <= line <= target.lines[1]] for target in targets}
        self.missing = {}
        self.seen = None

    def lines(self, target):
        if self.seen != len(self.search.features):
            self.seen = len(self.search.features)
            reached = {feature[3] for feature in self.search.features}
            self.missing = {key: sum(1 for line in lines if line not in reached) for key, lines in self.inside.items()}
        return self.missing[target.key]
