"""The tables of docs/guide/parameters.md, made from `hne.settings`: `make parameters` writes them."""

import inspect

from hne.settings import DEFAULTS, PUBLISHED, RUN, STAGES, Parameters, known_settings, parameters_of

INTRODUCTION = """# Parameters

All parameters of {py:class}`hne.HNE`, {py:func}`hne.embed` and, with dashes, the command `hne embed`. Each stands under
the first stage whose result it changes; [its page](../reference/generated/hne.HierarchicNeighborsEmbedding.rst)
says what larger and smaller values do. The column "published" holds the values of `hne.PUBLISHED`.
"""
HEAD = """
## {title}

| parameter | type | default | published | |
|---|---|---|---|---|
"""


def parameters_page():
    """The page: a table for each stage, its parameters with type, choices, defaults and what they are."""
    page = INTRODUCTION
    for stage in (*STAGES, RUN):
        if parameters_of(stage):
            title = "How and where, on which no result depends" if stage == RUN else stage.capitalize()
            page += HEAD.format(title=title) + "".join(row_of(name) for name in parameters_of(stage))
    return page


def row_of(name):
    known, default = known_settings()[name], DEFAULTS[name]
    kinds = [f'"{choice}"' for choice in known.choices] or inspect.get_annotations(Parameters)[name].split(" | ")
    if known.choices and known.may_be_auto:
        kinds.append("Auto")
    kind = " or ".join(kinds).replace("Auto", '"auto"')
    text = known.help.partition(" [")[0].replace(", or auto", "")
    return f"| `{name}` | {kind} | `{default!r}` | `{PUBLISHED.get(name, default)!r}` | {text} |\n"


if __name__ == "__main__":
    print(parameters_page(), end="")
