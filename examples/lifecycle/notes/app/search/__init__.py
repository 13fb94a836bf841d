"""Finds notes."""


def containing(store, word):
    return [number for number, text in store.all().items() if word.lower() in text.lower()]
