"""Every public name with its parameters, read by griffe without importing: `python tests/helpers/public_api.py`."""

from pathlib import Path

import griffe

SOURCE = Path(__file__).parents[2] / "src"
PUBLIC = ("hne", "baselines", "datasets", "exceptions", "metrics", "scale", "tuning", "viz")


def public_api():
    """A line for each name: where it is, and what it takes."""
    package = griffe.load("hne", search_paths=[SOURCE], resolve_aliases=True, resolve_external=False)
    lines = []
    for room in PUBLIC:
        module = package if room == "hne" else package[room]
        names = sorted(str(name).strip("'\"") for name in module.exports or [])
        lines += [f"{'hne' if room == 'hne' else 'hne.' + room}.{name}{signature(module, name)}" for name in names]
    return "\n".join(lines) + "\n"


def signature(module, name):
    """Its parameters by name, where it takes any."""
    found = module.members.get(name)
    found = found.final_target if found is not None and found.is_alias else found
    if found is not None and found.is_class:
        found = found.all_members.get("__init__")
        found = found.final_target if found is not None and found.is_alias else found
    if found is None or not found.is_function:
        return ""
    return f"({', '.join(one.name for one in found.parameters if one.name != 'self')})"


if __name__ == "__main__":
    print(public_api(), end="")
