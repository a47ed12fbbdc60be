"""Names of experiments -> a folder with the page, its pictures and the numbers behind them."""

import importlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from hne import plots
from hne._files import make_folder, whole_file
from hne._progress import stage
from hne.exceptions import InputError
from hne.experiments._cells import Store, code_digest
from hne.experiments._page import write_page
from hne.experiments._records import Options, Section

# In the order of the page. Each is a module with NAME, TITLE and run(options, store) -> Section.
EXPERIMENTS = (
    "neighbors",
    "general",
    "sparse",
    "noisy",
    "clusters",
    "surfaces",
    "faces",
    "teapots",
    "rebuilt",
    "tables",
)
RESULTS = "results"
QUICK_WORDS = "A quick run: too few data sets and settings for verdicts to mean much."


def reproduce(names: Sequence[str], options: Options, command: str = "hne reproduce") -> Path:
    """Run the experiments named, all where none is; return the page, which shows former ones of the folder too."""
    check_names(names)
    plots.pyplot()
    make_folder(options.output / RESULTS)
    page = options.output / "index.html"
    for name in [one for one in EXPERIMENTS if one in (names or EXPERIMENTS)]:
        _write_section(stage(name, _run, name, options), options.output)
        # The page grows with every experiment: whoever stops early has something to read.
        write_page(_sections(options.output), page, command)
    return page


def check_names(names: Sequence[str]) -> None:
    """Raise unless every name is an experiment."""
    unknown = [name for name in names if name not in EXPERIMENTS]
    if unknown:
        msg = f"name must be one of {', '.join(EXPERIMENTS)}, got {unknown[0]!r}. Leave names away to run all."
        raise InputError(msg)


def _run(name: str, options: Options) -> Section:
    section: Section = experiment(name).run(options, Store(options.output / RESULTS / name, options.n_jobs))
    return replace(section, settings=f"{section.settings} {QUICK_WORDS}") if options.quick else section


def experiment(name: str) -> ModuleType:
    """The module of an experiment."""
    return importlib.import_module(f"hne.experiments.{name}")


def _write_section(section: Section, output: Path) -> None:
    with whole_file(_file_of(section.name, output)) as temporary:
        values = {"code": code_digest(), **section.as_json()}
        temporary.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")


def _sections(output: Path) -> list[Section]:
    """The sections that the folder has, in the order of the page: not those that are damaged or of other code."""
    sections = []
    for name in EXPERIMENTS:
        try:
            values = json.loads(_file_of(name, output).read_text(encoding="utf-8"))
            if values.pop("code") == code_digest():
                sections.append(Section.from_json(values))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
    return sections


def _file_of(name: str, output: Path) -> Path:
    return output / RESULTS / f"{name}.json"
