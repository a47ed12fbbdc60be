"""Names of experiments -> a folder with the page, its pictures and the numbers behind them."""

import importlib
import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from hne._runtime.files import atomic_write, make_folder
from hne._runtime.progress import run_stage
from hne.core.parameters import check_integer
from hne.exceptions import InputError, quoted
from hne.viz import plots
from hne_paper.datasets import load_statue_faces, load_teapots
from hne_paper.datasets._loaders import FACES_FILES, TEAPOTS_FILES
from hne_paper.experiments._cells import RESULTS, Store, code_digest
from hne_paper.experiments._images import file_in
from hne_paper.experiments._page import page, write_page
from hne_paper.experiments._records import Options, Section

logger = logging.getLogger("hne")

# In the order of the page. Each is a module with TITLE and run(options, store) -> Section.
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
QUICK_WORDS = "A quick run: too few data sets and settings for verdicts to mean much."


def reproduce(names: Sequence[str], options: Options, command: str = "hne-paper reproduce") -> Path:
    """Run the experiments named, all where none is; return the page, which shows former ones of the folder too."""
    names, options = check_names(names), check_options(options)
    plots.pyplot()
    make_folder(options.output / RESULTS)
    address = options.output / "index.html"
    for name in [one for one in EXPERIMENTS if one in (names or EXPERIMENTS)]:
        section = run_stage(name, _run, name, options)
        _write_section(replace(section, command=command), options.output)
        # The page grows with every experiment: whoever stops early has something to read.
        write_page(_sections(options.output), address, command)
    return address


def check_names(names: Sequence[str]) -> list[str]:
    """Return the names of experiments, or raise."""
    asked = [names] if isinstance(names, str) else list(names)
    unknown = [name for name in asked if name not in EXPERIMENTS]
    if unknown:
        msg = f"name must be one of {', '.join(EXPERIMENTS)}, got {quoted(unknown[0])}. Leave names away to run all."
        raise InputError(msg)
    return asked


def check_options(options: Options) -> Options:
    """Return the options with paths that are paths, or raise."""
    n_seeds = check_integer("n_seeds", options.n_seeds, 1, "Try n_seeds=30")
    # -1 is all cores, as everywhere.
    n_jobs = options.n_jobs if options.n_jobs == -1 else check_integer("n_jobs", options.n_jobs, 1, "Try n_jobs=-1")
    data = None if options.data is None else Path(options.data)
    check_data(data)
    return replace(options, output=Path(options.output), data=data, n_seeds=n_seeds, n_jobs=n_jobs)


def check_data(folder: Path | None) -> None:
    """Raise unless there is a folder with original images, if one is named; say what it has and what not."""
    if folder is None:
        return
    found = {words: file_in(folder, names) for words, names in (("faces", FACES_FILES), ("teapots", TEAPOTS_FILES))}
    if not any(found.values()):
        msg = (
            f"data must be a folder with {' or '.join((*FACES_FILES, *TEAPOTS_FILES))}, got '{folder}' without any. "
            "Leave it away for rendered images."
        )
        raise InputError(msg)
    for (words, path), load in zip(found.items(), (load_statue_faces, load_teapots), strict=True):
        if path is not None:
            load(path)
        logger.info("original %s: %s", words, path or "none, rendered ones stand in")


def _run(name: str, options: Options) -> Section:
    section: Section = experiment(name).run(options, Store(options.output, name, options.n_jobs))
    return replace(section, settings=f"{section.settings} {QUICK_WORDS}") if options.quick else section


def experiment(name: str) -> ModuleType:
    """The module of an experiment."""
    return importlib.import_module(f"hne_paper.experiments.{name}")


def _write_section(section: Section, output: Path) -> None:
    with atomic_write(_file_of(section.name, output)) as temporary:
        values = {"code": code_digest(), **section.as_json()}
        temporary.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")


def _sections(output: Path) -> list[Section]:
    """The sections that the folder has, in the order of the page: not those that are damaged or of other code."""
    sections = []
    for name in EXPERIMENTS:
        try:
            values = json.loads(_file_of(name, output).read_text(encoding="utf-8"))
            if values.pop("code") == code_digest():
                section = Section.from_json(values)
                page([section], "")
                sections.append(section)
        except FileNotFoundError:
            continue
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            logger.warning("%s is damaged (%r) and left out of the page", _file_of(name, output), error)
    return sections


def _file_of(name: str, output: Path) -> Path:
    return output / RESULTS / f"{name}.json"
