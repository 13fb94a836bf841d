from typing import Dict


def word_count(text: str, ignore_case: bool = True, minimum: int = 1) -> Dict[str, int]:
    counts: Dict[str, int] = {}
    for word in text.split():
        word = word.strip(".,;:!?")
        if ignore_case:
            word = word.lower()
        if not word:
            continue
        counts[word] = counts.get(word, 0) + 1
    return {word: count for word, count in counts.items() if count >= minimum}
