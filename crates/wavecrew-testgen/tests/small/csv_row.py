def split_row(line, separator=",", quote='"'):
    fields, field, inside = [], "", False
    at = 0
    while at < len(line):
        char = line[at]
        if inside:
            if char == quote:
                if at + 1 < len(line) and line[at + 1] == quote:
                    field += quote
                    at += 1
                else:
                    inside = False
            else:
                field += char
        elif char == quote:
            inside = True
        elif char == separator:
            fields.append(field)
            field = ""
        else:
            field += char
        at += 1
    if inside:
        raise ValueError("a quote is not closed")
    fields.append(field)
    return fields
