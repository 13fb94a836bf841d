"""Notes, kept in memory."""


class Store:
    def __init__(self):
        self.notes = {}
        self.next = 1

    def add(self, text):
        if not text.strip():
            raise ValueError("a note needs a text")
        number = self.next
        self.next += 1
        self.notes[number] = text
        return number

    def all(self):
        return dict(self.notes)
