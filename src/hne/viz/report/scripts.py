"""Modules of the package -> one script for a page or a notebook, and the files that go with it."""

import base64
import functools
import hashlib
import posixpath
import re
from importlib.resources import files

STATIC = "viz/report/static"
# Statements at the top of a module, and the word before what it hands out: one script of several needs neither.
IMPORT = re.compile(r'^import\s[^;"]*"([^"]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=async |class |const |function |let )", re.MULTILINE)


def script_hash(script: str) -> str:
    """How a policy names a script that may run."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode('utf-8')).digest()).decode('ascii')}"


def bundle(entry: str) -> str:
    """One script of a module and all that it imports, with nothing of it seen from outside."""
    return f'"use strict";\n(() => {{\n{joined_modules(entry)}\n}})();\n'


@functools.cache
def joined_modules(*entries: str) -> str:
    """Modules, given by their paths in the package, and all that they import: each once, after those that it needs."""
    texts: dict[str, str] = {}

    def add(path: str) -> None:
        if path in texts:
            return
        text = package_text(path)
        texts[path] = ""  # on its way, in case that modules import each other
        for name in IMPORT.findall(text):
            add(posixpath.normpath(posixpath.join(posixpath.dirname(path), name)))
        del texts[path]
        texts[path] = EXPORT.sub("", IMPORT.sub("", text))

    for path in entries:
        add(path)
    return "\n".join(texts.values())


def static_text(*names: str) -> str:
    """Files of the folder `static`, one after the other."""
    return "\n".join(package_text(f"{STATIC}/{name}") for name in names)


def package_text(path: str) -> str:
    """A file of the package."""
    return (files("hne") / path).read_text(encoding="utf-8").replace("\r\n", "\n")
