import unittest

from app.cli import run
from app.store import Store


class Notes(unittest.TestCase):
    def test_added_notes_are_found(self):
        store = Store()
        self.assertEqual(run(store, ["add", "buy", "milk"]), "added 1")
        self.assertEqual(run(store, ["find", "MILK"]), "1")

    def test_a_note_needs_a_text(self):
        with self.assertRaises(ValueError):
            Store().add(" ")
