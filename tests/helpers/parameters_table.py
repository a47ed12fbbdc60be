"""The tables of docs/guide/parameters.md, made from `hne.settings`: `make parameters` writes them."""

import re

from numpydoc.docscrape import NumpyDocString

from hne.settings import DEFAULTS, PUBLISHED, RUN, STAGES, parameters_of, parameters_section

INTRODUCTION = """# Parameters

All parameters of {py:class}`hne.HNE`, {py:func}`hne.embed` and, with dashes, the command `hne embed`. Each stands under
the first stage whose result it changes; [its page](../reference/generated/hne.HierarchicNeighborsEmbedding.rst)
says what larger and smaller values do. The column "published" holds the values of `hne.PUBLISHED`.
"""
HEAD = """
## {title}

| parameter | type | default | published | what it sets |
|---|---|---|---|---|
"""
DESCRIBED = {one.name: one for one in NumpyDocString(parameters_section())["Parameters"]}


def parameters_page():
    """The page: a table for each stage, its parameters with type, choices, defaults and what they are."""
    page = INTRODUCTION
    for stage in (*STAGES, RUN):
        if parameters_of(stage):
            title = "How and where, on which no result depends" if stage == RUN else stage.capitalize()
            page += HEAD.format(title=title) + "".join(row_of(name) for name in parameters_of(stage))
    return page


def row_of(name):
    described, default = DESCRIBED[name], DEFAULTS[name]
    kind = described.type.partition(", default")[0]
    first = re.split(r"(?<=[.:])\s", " ".join(described.desc))[0].rstrip(".:").replace("|", "\\|")
    return f"| `{name}` | {kind} | `{default!r}` | `{PUBLISHED.get(name, default)!r}` | {first} |\n"


if __name__ == "__main__":
    print(parameters_page(), end="")
