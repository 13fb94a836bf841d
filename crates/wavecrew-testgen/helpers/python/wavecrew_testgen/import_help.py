"""The command that would make a failing import work."""
import os
import re
import sys

MISSING = re.compile(r"No module named '([\w.]+)'|No package metadata was found for ([\w.-]+)")
# Packages whose name differs from that of their module.
DISTRIBUTIONS = {
    "attr": "attrs", "bs4": "beautifulsoup4", "Crypto": "pycryptodome", "cv2": "opencv-python", "dateutil": "python-dateutil",
    "docx": "python-docx", "dotenv": "python-dotenv", "git": "GitPython", "jose": "python-jose", "jwt": "PyJWT",
    "ldap": "python-ldap", "magic": "python-magic", "OpenSSL": "pyOpenSSL", "PIL": "Pillow", "pkg_resources": "setuptools",
    "psycopg2": "psycopg2-binary", "serial": "pyserial", "skimage": "scikit-image", "sklearn": "scikit-learn",
    "slugify": "python-slugify", "usb": "pyusb", "win32api": "pywin32", "yaml": "PyYAML", "zmq": "pyzmq",
}


def with_help(why, module, root):
    """The reason of a failed import, with the command that would fix it if there is one."""
    found = MISSING.search(why)
    if not found:
        return why
    missing = (found.group(1) or found.group(2)).split(".")[0]
    own = missing.replace("-", "_") == module.split(".")[0] or os.path.exists(os.path.join(root, missing, "__init__.py"))
    wanted = "-e ." if own else DISTRIBUTIONS.get(missing, missing)
    return "%s (fix: %s -m pip install %s)" % (why, _interpreter(root), wanted)


def _interpreter(root):
    """The interpreter as a person would type it in the project."""
    inside = os.path.relpath(sys.executable, root)
    return inside if not inside.startswith(os.pardir) else sys.executable if sys.prefix != sys.base_prefix else "python3"
