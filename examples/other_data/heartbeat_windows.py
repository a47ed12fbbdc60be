"""
A heartbeat becomes a loop
==========================

Cut an electrocardiogram into overlapping windows, one beat long, and embed the windows. HNE draws a ring: once around
is one beat, and the angle tells the time since the last R peak to 1 % of a beat. PCA draws every beat somewhere else,
because the baseline of the recording drifts.
"""

import matplotlib.pyplot as plt
import numpy as np
import pywt
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap
from scipy.signal import find_peaks

from hne import HNE
from hne.baselines import baseline_embedding
from hne.metrics import trustworthiness
from hne.viz import scatter

# %%
# The recording ships with PyWavelets: 1024 samples, three R peaks, 329 samples from one to the next. A window of 329
# samples is a vector of 329 features, and the next window starts one sample later: 696 windows, a bit more than two
# beats. Windows get a color by their middle: the share of a beat since the last R peak, on a cyclic color map.

signal = pywt.data.ecg().astype(float)
peaks, _ = find_peaks(signal, distance=150, prominence=200)
beat = int(np.diff(peaks).mean())


def windows_of(width):
    """Windows of the signal, one a row, and the phase of the beat in the middle of each."""
    X = np.lib.stride_tricks.sliding_window_view(signal, width)
    return X, phase_at(np.arange(len(X)) + width // 2)


def phase_at(time):
    """Share of a beat since the last R peak."""
    return (time - peaks[0]) / beat % 1


X, phase = windows_of(beat)
model = HNE().fit(X)
pca = baseline_embedding("pca", X)

cyclic = LinearSegmentedColormap.from_list("beat", ["#3f90da", "#832db6", "#bd1f01", "#ffa90e", "#5fa052", "#3f90da"])
grid = {"figsize": (8, 5.6), "height_ratios": [1, 2.2], "layout": "constrained"}
figure, panels = plt.subplot_mosaic([["signal", "signal"], ["pca", "hne"]], **grid)
panels["signal"].scatter(np.arange(len(signal)), signal, c=cyclic(phase_at(np.arange(len(signal)))), s=4)
panels["signal"].set(xlabel="sample", ylabel="voltage, as stored")
panels["signal"].set_title("electrocardiogram", fontsize=11, loc="left")
no_units = ("coordinate 1", "coordinate 2")
scatter(pca, cyclic(phase)[:, :3], axes=panels["pca"], labels=no_units, title="PCA of the windows")
scatter(model, cyclic(phase)[:, :3], axes=panels["hne"], labels=no_units, title="HNE of the windows")
figure.colorbar(ScalarMappable(cmap=cyclic), ax=list(panels.values()), label="beats since the last R peak", aspect=40)
plt.show()

# %%
# :class:`hne.HNE` recognizes that the windows form a curve and draws a chart, which keeps the ring closed. So does
# Isomap here; t-SNE preserves neighborhoods, but tears the ring apart. The angle around the center, turned to fit,
# predicts the phase; the error is the mean over all windows.


def phase_error(Y):
    """Mean error of the phase told by the angle around the center, in percent of a beat."""
    angle = np.angle((Y - Y.mean(axis=0)) @ [1, 1j])
    both_ways = (np.exp(1j * (turned - 2 * np.pi * phase)) for turned in (angle, -angle))
    return 100 * min(np.abs(np.angle(apart / apart.mean())).mean() / (2 * np.pi) for apart in both_ways)


pictures = {"HNE": model.embedding_, "PCA": pca}
pictures |= {name: baseline_embedding(name, X) for name in ("isomap", "tsne")}
for name, Y in pictures.items():
    print(f"{name:8s} trustworthiness {trustworthiness(X, Y, 10):.3f}, phase off by {phase_error(Y):4.1f} % of a beat")
print(model.verdict_)

# %%
# Shorter windows contain less information about their place in the beat. With 200 samples and three neighbors, the
# default for a curve, the beats are connected only where the heart rests: two beats become two loops, and the verdict
# says not to believe it. With more neighbors the beats share one ring again, to be believed with care.

X, phase = windows_of(200)
figure, panels = plt.subplots(1, 2, figsize=(8, 3.8), layout="constrained")
for panel, short in zip(panels, (HNE(), HNE(n_neighbors=12)), strict=True):
    short.fit(X)
    title = f"windows of 200 samples, {short.n_neighbors_} neighbors"
    scatter(short, cyclic(phase)[:, :3], axes=panel, labels=no_units, title=title)
    print(f"{short.n_neighbors_} neighbors. {short.verdict_}")
plt.show()
