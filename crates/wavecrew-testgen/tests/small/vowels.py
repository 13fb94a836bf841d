def count_vowels(s):
    """Counts vowels; y is one at the end of a word."""
    vowels = "aeiouAEIOU"
    n = sum(c in vowels for c in s)
    if s and s[-1].lower() == "y":
        n += 1
    return n


def longest_common_prefix(strs):
    if not strs:
        return ""
    prefix = strs[0]
    for s in strs[1:]:
        while not s.startswith(prefix):
            prefix = prefix[:-1]
            if not prefix:
                return ""
    return prefix


def is_palindrome_sentence(s):
    cleaned = [c.lower() for c in s if c.isalnum()]
    return cleaned == cleaned[::-1]


def sort_by_frequency(lst):
    counts = {}
    for x in lst:
        counts[x] = counts.get(x, 0) + 1
    return sorted(lst, key=lambda x: (-counts[x], x))
