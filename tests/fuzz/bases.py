"""Kind of file -> good files of it, made once a process, from which others are made by changing something."""

import io
import tempfile
import warnings
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
from scipy.io import savemat
from scipy.sparse import csc_array, csr_array, save_npz

from tests.helpers.h5ad import write_h5ad

N_SAMPLES = 60


@cache
def samples() -> np.ndarray:
    """Sixty samples of a bent sheet."""
    rng = np.random.default_rng(5)
    s, t = rng.uniform(size=(2, N_SAMPLES))
    return np.column_stack([np.cos(3 * s), np.sin(3 * s), t, 0.01 * rng.normal(size=N_SAMPLES)])


def _saved(write, name: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path)
        return path.read_bytes()


@cache
def bases(kind: str) -> tuple[tuple[str, bytes], ...]:
    """Names and bytes of good files of that kind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tuple(MAKERS[kind]())


def _texts():
    X = samples()
    rows = [f"s{i},{a!r},{b!r},{'ab'[i % 2]},{i % 3}" for i, (a, b) in enumerate(X[:, :2].tolist())]
    table = "id,length,width,group,class\n" + "\n".join(rows) + "\n"
    yield "plain.csv", table.encode()
    yield "quoted.csv", table.replace("s1,", '"s, ""1""\nx",').encode()
    yield "tabs.tsv", table.replace(",", "\t").encode("utf-16")
    yield "commas.txt", table.replace(",", ";").replace(".", ",").encode("latin-1")
    yield "bare.dat", "\n".join(" ".join(map(str, row)) for row in X.tolist()).encode()


def _npy(array) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def _npys():
    X = samples()
    yield "dense.npy", _npy(X)
    yield "turned.npy", _npy(np.asfortranarray(X.astype(np.float32)))
    yield "images.npy", _npy((255 * np.abs(np.random.default_rng(0).random((20, 4, 4)))).astype(np.uint8))
    records = np.zeros(N_SAMPLES, dtype=[("a", "f8"), ("b", "i4"), ("name", "U3")])
    records["a"], records["b"], records["name"] = X[:, 0], range(N_SAMPLES), "abc"
    yield "records.npy", _npy(records)


def _npzs():
    X, names = samples(), np.array(["ab", "c"] * (N_SAMPLES // 2))
    for pack in (np.savez, np.savez_compressed):
        yield f"{pack.__name__}.npz", _saved(lambda path, pack=pack: pack(path, X=X, y=names), "a.npz")
    for form in (csr_array, csc_array):
        yield f"{form.__name__}.npz", _saved(lambda path, form=form: save_npz(path, form(X)), "a.npz")


def _mats():
    X, names = samples(), np.array(["ab", "c"] * (N_SAMPLES // 2), dtype=object)
    inside = {"data": X, "labels": names}
    for number, content in enumerate(
        ({"X": X}, {"X": X.astype(np.float32), "y": names}, {"s": inside}, {"X": csc_array(X), "t": "text"})
    ):
        for packed in (False, True):
            yield (
                f"{number}{packed}.mat",
                _saved(lambda path, c=content, p=packed: savemat(path, c, do_compression=p), "a.mat"),
            )
    yield "four.mat", _saved(lambda path: savemat(path, {"X": X}, format="4"), "a.mat")


def _hdf5s():
    import h5py

    X = samples()

    def plain(path, **how):
        with h5py.File(path, "w") as root:
            root.create_dataset("group/X", data=X, **how)
            root["y"] = np.arange(N_SAMPLES)
            root["names"] = ["ab", "c"] * (N_SAMPLES // 2)
            root["link"] = h5py.SoftLink("/group/X")

    yield "plain.h5", _saved(plain, "a.h5")
    yield "packed.h5", _saved(lambda path: plain(path, chunks=(7, 2), compression="gzip", shuffle=True), "a.h5")
    yield "new.h5", _saved(lambda path: _latest(h5py, path, X), "a.h5")

    def matlab(path):
        with h5py.File(path, "w", userblock_size=512) as root:
            root["X"] = X.T
            root["X"].attrs["MATLAB_class"] = np.bytes_("double")

    yield "new.mat", _saved(matlab, "a.mat")
    for number, table in enumerate((X, csr_array(X))):
        yield f"{number}.h5ad", _saved(lambda path, table=table: _anndata(path, table), "a.h5ad")


def _latest(h5py, path, X):
    with h5py.File(path, "w", libver="latest") as root:
        root.create_dataset("X", data=X, maxshape=(None, 4), chunks=(8, 4), fletcher32=True)
        root.attrs["note"] = "text"


def _anndata(path, X):
    cells, genes = [f"cell{i}" for i in range(N_SAMPLES)], [f"gene{i}" for i in range(X.shape[1])]
    obs = {"kind": (["a", "b"], [0, 1] * (N_SAMPLES // 2)), "depth": list(range(N_SAMPLES)), "note": ["x", "y"] * 30}
    write_h5ad(path, X, obs, cells, genes, obsm={"X_pca": samples()[:, :2]})


def _arrow_table():
    import pyarrow as pa

    X = samples()
    return pa.table({
        "a": X[:, 0],
        "b": pa.array(X[:, 1].astype(np.float32)),
        "c": pa.array([None, *range(N_SAMPLES - 1)]),
        "list": pa.array(X.tolist()),
        "text": pa.array(["ab", None, "c"] * (N_SAMPLES // 3)).dictionary_encode(),
        "id": [f"s{i}" for i in range(N_SAMPLES)],
    })  # fmt: skip


def _parquets():
    import pyarrow.parquet

    table = _arrow_table()
    for number, how in enumerate(({"compression": "none"}, {"row_group_size": 20}, {"use_dictionary": False})):
        yield (
            f"{number}.parquet",
            _saved(lambda path, how=how: pyarrow.parquet.write_table(table, path, **how), "a.parquet"),
        )


def _arrows():
    import pyarrow.feather

    table = _arrow_table()
    for packing in ("uncompressed", "lz4"):
        yield (
            f"{packing}.feather",
            _saved(lambda path, how=packing: pyarrow.feather.write_feather(table, path, compression=how), "a.feather"),
        )
    stream = io.BytesIO()
    with pyarrow.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    yield "stream.arrow", stream.getvalue()


def _pictures():
    from PIL import Image

    rng = np.random.default_rng(2)
    for ending, mode in (("png", "RGB"), ("png", "L"), ("png", "P"), ("jpg", "RGB"), ("gif", "P"), ("bmp", "RGB"),
                         ("tif", "RGB"), ("tif", "I;16"), ("webp", "RGB"), ("pgm", "L"), ("png", "RGBA")):  # fmt: skip
        stream = io.BytesIO()
        pixels = Image.fromarray(rng.integers(256, size=(12, 9, 3)).astype(np.uint8))
        pixels.convert("L" if mode == "I;16" else mode).convert(mode).save(stream, format={
            "jpg": "JPEG", "tif": "TIFF", "pgm": "PPM"}.get(ending, ending.upper()))  # fmt: skip
        yield f"{mode.replace(';', '')}.{ending}", stream.getvalue()


def _models():
    from hne import HNE, LinearHNE

    X = samples()
    apart = np.vstack([X[:40], X[40:] + 100, X[:3] + 300])
    for number, (model, data) in enumerate((
        (HNE(), X), (HNE(5, coordinates="eigenvectors"), X.astype(np.float32)), (HNE(4), apart),
        (HNE(4, pieces="largest"), apart), (HNE(), csr_array(np.abs(X))), (LinearHNE(), X),
        (HNE(metric="minkowski", metric_params={"p": 3.0}), X), (HNE(coordinates="chart"), X),
        (HNE(4, coordinates="chart"), apart),
    )):  # fmt: skip
        yield f"{number}.hne", _saved(model.fit(data).save, "a.hne")


def _checkpoints():
    from hne import embed

    with tempfile.TemporaryDirectory() as folder:
        # Runs that read it find eigenpairs, or a layout.
        for coordinates in ("chart", "auto"):
            embed(samples(), checkpoint=Path(folder) / "run", coordinates=coordinates)
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            for path in sorted((Path(folder) / "run").rglob("*")):
                if path.is_file():
                    archive.write(path, path.relative_to(Path(folder) / "run").as_posix())
    yield "run", stream.getvalue()


MAKERS = {
    "CSV": _texts,
    "NPY": _npys,
    "NPZ": _npzs,
    "MAT": _mats,
    "HDF5": _hdf5s,
    "Parquet": _parquets,
    "Arrow": _arrows,
    "images": _pictures,
    "models": _models,
    "checkpoints": _checkpoints,
}
