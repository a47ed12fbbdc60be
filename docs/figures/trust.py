"""Three embeddings of rolls with their verdicts: good, doubtful and bad."""

import warnings

import matplotlib.pyplot as plt

from hne import HNE, PUBLISHED
from hne.datasets import make_swiss_roll

cases = (
    (make_swiss_roll(400, random_state=0), {}),
    (make_swiss_roll(300, random_state=0), PUBLISHED),
    (make_swiss_roll(150, random_state=3), {}),
)
figure, panels = plt.subplots(1, 3, figsize=(9, 2.8))
for axes, (roll, settings) in zip(panels, cases, strict=True):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the verdict says is what is drawn
        model = HNE(**settings).fit(roll.X)
    axes.scatter(*model.embedding_.T, c=roll.chart[:, 0], s=8)
    score = f"score {model.trust_.score.score:.3f}"
    axes.set(title=f"{model.trust_.level}, {score}", xticks=[], yticks=[])
    axes.set_aspect("equal", adjustable="datalim")
