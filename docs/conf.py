"""How the site is built: `make docs` -> docs/_build/html, with warnings as errors."""

import hashlib
import os
import re
import shutil
import sys
from contextlib import suppress
from importlib.metadata import version as version_of
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import PycodeError
from sphinx.pycode import ModuleAnalyzer

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
BUILD = HERE / "_build"

sys.path.insert(0, str(HERE))
from generate import generate_pages  # beside this file

generate_pages()

project = "hne"
author = "The hne developers"
copyright = "The hne developers, BSD-3-Clause"  # noqa: A001, Sphinx's word
release = version = version_of("hne")

extensions = [
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinx-mathjax-offline",
]
# The spelling builder needs the C library enchant, which `make docs-check` installs; pages are built without it.
with suppress(ImportError):
    import enchant  # noqa: F401, raises where the library is missing

    extensions.append("sphinxcontrib.spelling")
exclude_patterns = ["_build", "figures", "inventories", "gallery/**/*.ipynb", "gallery/**/*.py", "**/*.codeobj.json"]
templates_path = ["_templates"]

# Single backticks of docstrings are links where the name has a page, and code where it has none.
default_role = "py:obj"
nitpicky = True
nitpick_ignore_regex = [("py:obj", ".*")]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# The network's inventories where there is one, and else the names that are used here.
intersphinx_mapping = {
    name: (address, (None, f"inventories/{name}.txt"))
    for name, address in {
        "numpy": "https://numpy.org/doc/stable/",
        "python": "https://docs.python.org/3/",
        "scipy": "https://docs.scipy.org/doc/scipy/",
        "sklearn": "https://scikit-learn.org/stable/",
    }.items()
}
intersphinx_timeout = 5

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

plot_include_source = False
plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = [("png", 150)]
plot_rcparams = {"figure.constrained_layout.use": True, "font.size": 9, "axes.titlesize": 9}
plot_apply_rcparams = True

# Data sets that no package carries lie in a folder beside the checkout. Examples that need them are run where it is,
# and shown without their pictures where it is not.
DATA = Path(os.environ.setdefault("HNE_DATA", str(ROOT.parent / "shared" / "data")))


def _may_run() -> str:
    """A pattern of the examples that can be run here."""
    examples = sorted((ROOT / "examples").rglob("*.py"))
    runnable = [one.name for one in examples if DATA.is_dir() or "HNE_DATA" not in one.read_text(encoding="utf-8")]
    return "|".join(re.escape(f"{os.sep}{name}") for name in runnable) or "$^"


def _library_changed() -> bool:
    """Whether the library is another than at the last build: all examples and figures are then made again."""
    sources = sorted(path for kind in ("*.py", "*.cpp", "*.h") for path in (ROOT / "src").rglob(kind))
    now = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    kept = BUILD / "library.sha256"
    was = kept.read_text(encoding="utf-8") if kept.exists() else None
    BUILD.mkdir(exist_ok=True)
    kept.write_text(now, encoding="utf-8")
    if was != now:
        for made in (".doctrees", "plot_directive"):
            shutil.rmtree(BUILD / "html" / made, ignore_errors=True)
    return was != now


sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "subsection_order": [f"../examples/{part}" for part in ("real_data", "other_data", "workflows", "method")],
    "filename_pattern": _may_run(),
    "run_stale_examples": _library_changed(),
    "abort_on_example_error": True,
    "backreferences_dir": "reference/backreferences",
    "doc_module": ("hne",),
    "reference_url": {"hne": None},
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
    "show_memory": False,
    "plot_gallery": True,
    "copyfile_regex": r".*\.(csv|txt)",
    "image_scrapers": ("matplotlib",),
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "hne"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "hne"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "show_toc_level": 2,
    "pygments_light_style": "default",
    "pygments_dark_style": "github-dark",
}
html_sidebars = {"index": []}
html_context = {"default_mode": "auto"}

spelling_lang = "en_US"
spelling_word_list_filename = "spelling.txt"
spelling_show_suggestions = True
spelling_ignore_importable_modules = False  # what is right should not depend on what is installed


def picture_first(app: Sphinx, docname: str, source: list[str]) -> None:
    """Move the first picture of an example above its code."""
    if not docname.startswith("gallery/"):
        return
    first_code = re.search(
        r"^\.\. GENERATED FROM PYTHON SOURCE LINES .*\n+\.\. code-block:: Python", source[0], re.MULTILINE
    )
    picture = re.search(r"^\.\. image-sg::.*\n(?:[ ]+.*\n)+", source[0], re.MULTILINE)
    if first_code and picture:
        text = source[0].replace(picture[0], "", 1)
        source[0] = text[: first_code.start()] + picture[0] + "\n\n" + text[first_code.start() :]


def told_at_home(app: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]) -> None:
    """Constants are imported from where they are made: take the comment that stands there."""
    short = name.rpartition(".")[2]
    for module in [one for one in sys.modules if one.startswith("hne.")] if what == "data" else ():
        if getattr(sys.modules[module], short, None) is value:
            with suppress(PycodeError):  # the compiled one
                analyzer = ModuleAnalyzer.for_module(module)
                analyzer.analyze()
                lines[:] = analyzer.attr_docs.get(("", short), lines)


def setup(app: Sphinx) -> None:
    """Sphinx calls this."""
    app.connect("source-read", picture_first)
    app.connect("autodoc-process-docstring", told_at_home)
