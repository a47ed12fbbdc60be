"""pyproject.toml -> requirements, one a line, each pinned to its lower bound: what `make test-lowest` installs.

Usage: python .ci/lowest.py [EXTRA ...]; extras of this package that an extra names are followed.
"""

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?P<extras>\[[\w,.-]+\])?>=(?P<bound>[\w.]+)(?P<marker>;.*)?")


def lowest(project: dict, asked: list[str]) -> dict[str, str]:
    """Pins of these requirements, by name."""
    pins = {}
    for requirement in asked:
        if requirement.startswith(f"{project['name']}["):
            for extra in requirement.partition("[")[2].rstrip("]").split(","):
                pins |= lowest(project, project["optional-dependencies"][extra])
            continue
        told = REQUIREMENT.fullmatch(requirement)
        if not told:
            sys.exit(f"{PROJECT.name} needs a lower bound for all it requires, got {requirement!r}. Write name>=1.0.")
        pins[told["name"]] = f"{told['name']}{told['extras'] or ''}=={told['bound']}{told['marker'] or ''}"
    return pins


if __name__ == "__main__":
    package = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    extras = [f"{package['name']}[{','.join(sys.argv[1:])}]"] if sys.argv[1:] else []
    sys.stdout.write("\n".join(sorted(lowest(package, package["dependencies"] + extras).values())) + "\n")
