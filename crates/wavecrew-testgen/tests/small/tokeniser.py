def tokenise(source):
    """Splits arithmetic into numbers, names, operators and brackets."""
    tokens = []
    at = 0
    while at < len(source):
        char = source[at]
        if char.isspace():
            at += 1
        elif char.isdigit():
            end = at
            while end < len(source) and (source[end].isdigit() or source[end] == "."):
                end += 1
            tokens.append(("number", float(source[at:end])))
            at = end
        elif char.isalpha() or char == "_":
            end = at
            while end < len(source) and (source[end].isalnum() or source[end] == "_"):
                end += 1
            tokens.append(("name", source[at:end]))
            at = end
        elif char in "+-*/()=":
            tokens.append(("operator", char))
            at += 1
        else:
            raise SyntaxError("unexpected %r at %d" % (char, at))
    return tokens
