import re

PATTERN = re.compile(r"^[a-z0-9_.+-]+@([a-z0-9-]+\.)+[a-z]{2,}$", re.IGNORECASE)


def normalise_email(address):
    address = address.strip()
    if not PATTERN.match(address):
        return None
    name, domain = address.rsplit("@", 1)
    domain = domain.lower()
    if domain in ("gmail.com", "googlemail.com"):
        name = name.split("+")[0].replace(".", "")
        domain = "gmail.com"
    return name.lower() + "@" + domain
