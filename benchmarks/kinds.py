"""Kinds of input: agreement of distances, graphs and sparse samples with coordinates, and the cost of sparse ones."""

import json
import resource
import subprocess
import sys
import time

import numpy as np
from scipy.linalg import subspace_angles
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist, squareform
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline

from hne import HNE, PUBLISHED
from hne.datasets import make_swiss_roll
from hne.settings import VARIANTS
from tables import table

TITLE = "Kinds of input"
N_SAMPLES, N_STORED = 1_000, 300
DOCUMENTS, WORDS, TOPICS = 20_000, 30_000, 40


def measure() -> str:
    """Measure and return the section as Markdown."""
    X = make_swiss_roll(N_SAMPLES, random_state=0).X
    lines = []
    for variant in VARIANTS:
        settings = {**PUBLISHED, "variant": variant}
        Y = HNE(**settings).fit_transform(X)
        known = HNE(**settings, metric="precomputed")
        pipeline = make_pipeline(KNeighborsTransformer(n_neighbors=N_STORED, mode="distance"), known)
        graph = KNeighborsTransformer(n_neighbors=PUBLISHED["n_neighbors"]).fit_transform(X)
        others = (
            known.fit_transform(squareform(pdist(X))),
            pipeline.fit_transform(X),
            HNE(**settings, neighbors=graph).fit_transform(X),
            HNE(**settings).fit_transform(csr_array(X)),
        )
        lines.append([variant.upper(), *(f"{np.abs(other - Y).max():.0e}" for other in others)])
        lines[-1].append(f"{max(subspace_angles(other, Y).max() for other in others):.0e}")
    rows = [_documents_in_a_process(metric) for metric in ("euclidean", "cosine")]
    cells = [[row["metric"], row["stored"], row["seconds"], row["peak GB"]] for row in rows]
    header = ["", "distances", f"pipeline, {N_STORED} neighbors stored", "given graph", "sparse X", "largest angle"]
    text = [
        f"## {TITLE}",
        "",
        f"Swiss roll, n = {N_SAMPLES}, published settings: the largest difference of a coordinate (about 0.03) from",
        "the embedding of X itself, and the largest angle between the planes.",
        "",
        table(header, lines),
        "",
        f"A sparse matrix of {DOCUMENTS} texts over {WORDS} words, weighed by their rarity, k = 8; {TOPICS} topics.",
        "Peak memory of the whole process.",
        "",
        table(["metric", "entries stored", "seconds", "peak GB"], cells),
    ]
    return "\n".join(text)


def documents() -> csr_array:
    """Texts that draw most words from the vocabulary of their topic: counts times the logarithm of rarity."""
    rng = np.random.default_rng(0)
    vocabularies = [rng.choice(WORDS, 900, replace=False) for _ in range(TOPICS)]
    words = [
        np.unique(np.concatenate([rng.choice(vocabularies[rng.integers(TOPICS)], 24), rng.integers(0, WORDS, 7)]))
        for _ in range(DOCUMENTS)
    ]
    rows, columns = np.repeat(np.arange(DOCUMENTS), [len(text) for text in words]), np.concatenate(words)
    rarity = np.log(DOCUMENTS / np.bincount(columns, minlength=WORDS).clip(1))
    counts = rng.integers(1, 4, len(columns))
    return csr_array((counts * rarity[columns], (rows, columns)), shape=(DOCUMENTS, WORDS))


def _documents_in_a_process(metric: str) -> dict[str, str]:
    print(f"  documents, {metric} ...", file=sys.stderr)
    command = [sys.executable, __file__, metric]
    run = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603, our own file
    row: dict[str, str] = json.loads(run.stdout)
    return row


def _embed_documents(metric: str) -> None:
    X = documents()
    start = time.perf_counter()
    model = HNE(n_neighbors=8, metric=metric).fit(X)
    seconds = time.perf_counter() - start
    if not np.isfinite(model.embedding_).all():
        sys.exit("the embedding is not finite")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    stored = f"{X.nnz / (DOCUMENTS * WORDS):.2%}"
    print(json.dumps({"metric": metric, "stored": stored, "seconds": f"{seconds:.0f}", "peak GB": f"{peak / 1e9:.2f}"}))


if __name__ == "__main__":
    _embed_documents(sys.argv[1])
