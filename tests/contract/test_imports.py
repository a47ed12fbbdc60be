"""Imports do nothing heavy, and public names are the ones promised."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import hne

SOURCE = Path(hne.__file__).parent


def test_every_module_says_what_it_is():
    silent = [path for path in SOURCE.rglob("*.py") if not ast.get_docstring(ast.parse(path.read_text()))]
    assert not silent


@pytest.mark.parametrize(
    "module",
    [
        "hne",
        "hne.datasets",
        "hne.metrics",
        "hne.baselines",
        "hne.viz",
        "hne.viz.plots",
        "hne.exceptions",
        "hne.cli",
        "hne.viz.report",
        "hne_paper.datasets",
        "hne_paper.experiments",
        "hne_paper.metrics",
    ],
)
def test_public_names_exist_are_sorted_and_documented(module):
    public = importlib.import_module(module)
    assert list(public.__all__) == sorted(public.__all__, key=lambda name: (not name.isupper(), name))
    for name in public.__all__:
        if name not in {"PUBLISHED", "__version__"}:
            assert getattr(public, name).__doc__
    assert set(public.__all__) <= set(dir(public))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'hne' has no attribute 'tsne'"):
        hne.tsne  # noqa: B018


def modules_after(code):
    """Names of the modules that a fresh interpreter has loaded after running the code."""
    script = f"{code}\nimport sys; print(' '.join(sys.modules))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_importing_the_package_or_its_command_line_loads_nothing_heavy():
    loaded = modules_after("import hne, hne.cli; hne.cli._parser()")
    assert not loaded & {"numpy", "scipy", "sklearn", "numba", "matplotlib"}


def test_small_samples_never_wait_for_a_compiler_and_a_fit_loads_no_more_than_it_needs():
    loaded = modules_after(
        "import sys; import numpy as np; from hne import HNE, embed\n"
        "X = np.random.default_rng(0).random((300, 3)); HNE().fit(X)\n"
        "needless = {'hne.io', 'hne.estimators.model_file', 'hne.scale', 'hne.tuning', 'hne.viz', 'hne.cli'}\n"
        "assert not needless & set(sys.modules)\n"
        "from hne.core.eigenpairs import scree; from hne.metrics import coranking, rank_quality\n"
        "result = embed(X); scree(result); rank_quality(X, X); coranking(X, X)\n"
        "assert 'jinja2' not in sys.modules\n"
        "from hne.viz.report import Details, notebook_html, report_page\n"
        "report_page(result, Details()); notebook_html(result)\n"
        "import hne.baselines.comparison, hne.viz.plots"
    )
    assert "sklearn" in loaded
    assert not loaded & {"numba", "llvmlite", "matplotlib", "PIL", "umap", "phate", "pynndescent"}


def test_a_small_file_is_embedded_and_reported_without_what_takes_long_to_load(tmp_path):
    (tmp_path / "points.csv").write_text("".join(f"{t % 7},{t % 11},{t % 13}\n" for t in range(300)))
    words = ["embed", f"{tmp_path}/points.csv", "-o", f"{tmp_path}/map.csv", "--report", f"{tmp_path}/map.html", "-q"]
    loaded = modules_after(f"from hne.cli import main; assert main({words}) == 0")
    assert not loaded & {"sklearn", "scipy.stats", "pandas", "pyarrow", "matplotlib", "numba", "PIL"}


def test_the_library_never_prints(cloud, capfd):
    hne.HNE().fit(cloud).transform(cloud)
    assert capfd.readouterr() == ("", "")
