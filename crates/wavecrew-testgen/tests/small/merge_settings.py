def merge(base, other, lists="replace"):
    """A copy of nested settings with those of another laid over it."""
    result = dict(base)
    for key, value in other.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merge(result[key], value, lists)
        elif isinstance(value, list) and lists == "append":
            result[key] = result.get(key, []) + value
        else:
            result[key] = value
    return result


def flatten_keys(data, prefix=""):
    flat = {}
    for key, value in data.items():
        name = prefix + "." + key if prefix else key
        if isinstance(value, dict):
            flat.update(flatten_keys(value, name))
        else:
            flat[name] = value
    return flat
