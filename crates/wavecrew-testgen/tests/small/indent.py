import contextlib


class Writer:
    def __init__(self, unit="  "):
        self.unit = unit
        self.level = 0
        self.lines = []

    def line(self, text=""):
        if text:
            self.lines.append(self.unit * self.level + text)
        else:
            self.lines.append("")

    @contextlib.contextmanager
    def block(self, title):
        self.line(title + ":")
        self.level += 1
        try:
            yield self
        finally:
            self.level -= 1

    def text(self):
        return "\n".join(self.lines)


def nested(titles):
    writer = Writer()
    for depth, title in enumerate(titles):
        writer.level = depth
        with writer.block(title):
            writer.line("pass")
    return writer.text()
