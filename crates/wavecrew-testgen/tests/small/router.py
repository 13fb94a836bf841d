import re


class Router:
    def __init__(self):
        self._routes = []

    def add(self, pattern: str, handler: str) -> None:
        if not pattern.startswith("/"):
            raise ValueError("a pattern starts with /")
        regex = re.sub(r"<(\w+)>", r"(?P<\1>[^/]+)", pattern)
        self._routes.append((re.compile("^" + regex + "$"), handler))

    def match(self, path: str):
        for regex, handler in self._routes:
            found = regex.match(path)
            if found:
                return handler, found.groupdict()
        return None

    def __len__(self):
        return len(self._routes)
