"""The words of the command line."""

from app.search import containing


def run(store, words):
    match words:
        case ["add", *text]:
            return f"added {store.add(' '.join(text))}"
        case ["find", word]:
            return " ".join(str(number) for number in containing(store, word))
        case _:
            raise ValueError("add TEXT | find WORD")
