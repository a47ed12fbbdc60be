"""Where good ends: every number that a verdict depends on, and what it was calibrated by.

Calibrated on 2300 embeddings of 38 data sets with known charts (Swiss rolls of 300 to 2000 samples even, uneven, noisy
and holed, S-curves, twin peaks, severed spheres, sphere caps, strips, cubes in 8-D; three variants, k from 4 to 12, reg
from 1e-7 to 1e-2). Good: affine error under .05; bad: over .15. `benchmarks/verdicts.py` measures on other seeds.
"""

# Scores above the limit are doubtful, above the other bad; noise, the share of local variance off the tangent planes,
# raises the score of good embeddings too. Flagged at .1: 10 % of the good and 97 % of the bad (at .107, 7 and 97 %; at
# .123, 4 and 90 %). Above .09 fewer than half are right, which nobody should be told to believe. Told to be bad: 1 % of
# the good, 64 % of the bad.
SCORE_DOUBTFUL, SCORE_BAD, SCORE_NOISE = 0.09, 0.16, 1.0
# Noise beyond this is another dimension rather than noise: noisy surfaces have .11 at most.
MOST_NOISE = 0.11
# Below this, nine in ten embeddings are right; from there to the limit, two in three.
SCORE_SURE = 0.05

# Charts that are unfolded, calibrated on 1 100 embeddings of 24 data sets (rolls of 150 to 2 000 samples with noise up
# to 1, holes, S-curves of 60 and 100, bands, peaks, spheres, caps, cubes, a roll with 47 columns of noise). Stress is
# that of near pairs; bent the eigenvalue of P behind the last coordinate, in that one's. Below both of the first, a
# chart is the surface laid flat, whatever the score says of neighborhoods that reach across folds.
FLAT_STRESS, FLAT_BENT = 0.003, 0.08
# Little stress and much left over: parts hang together by a hinge. Curved surfaces, bent too, have more stress.
HINGE_STRESS, HINGE_BENT = 0.014, 0.175
# A band so narrow, its last spread in its first, squared, is right only with little stress.
NARROW, NARROW_STRESS = 0.01, 0.004
# Scores above, with noise as below, are doubtful; and above the second, where there are stress and something left over.
CHART_SCORE, STRAINED_SCORE, STRAINED_STRESS, STRAINED_BENT = 0.055, 0.04, 0.008, 0.09

# The calibration carries over to samples on a surface or near one (`Frames.is_flat`), and where one of the estimators
# of the dimension is this near to the number of coordinates.
DIMENSION_NEAR = 0.6
# Dimensions that can be told for each factor of ten in the number of samples: Eckmann and Ruelle 1992.
DIMENSIONS_A_DECADE = 2.0

# A coordinate repeats others where they tell so much of it. Good embeddings: .36 at most. Harmonics: .95.
REPEATED = 0.8
# Neighbors that a coordinate is told by, and samples that are looked at.
TELLING_NEIGHBORS, TELLING_ROWS = 8, 2000

# A neighborhood has collapsed where its narrowest side is less than this share of what even samples would have, and an
# embedding where so many have and its samples crowd in a part of its range: rings are narrow everywhere, and right.
# Digits at k = 6 (a line and strays) .65 and .3, iris (two lines) .99 and .05, clusters on threads .7 to 1 and .07 to
# .5; rings of images .72 and .71, Swiss rolls 0 and .9, Gaussians 0 and .64.
COLLAPSED_SIDE, COLLAPSED_SHARE, CROWDED_SHARE = 0.1, 0.5, 0.45
# Bins by which that is told, and samples for each.
MOST_BINS, SAMPLES_A_BIN = 50, 4

# Share of the samples outside the largest piece from which that is more than a few strays.
PIECES_SHARE = 0.05
# Share of |J_i| that makes a sample mostly its own, and share of such samples that is worth telling.
SELF_WEIGHT, SELF_SHARE = 0.5, 0.5
# The next eigenvalue over the last wanted one, below which the last coordinate is one of several as good.
GAP_NOTED = 1.05

# Share of samples from which ties are told of: digits at k = 6 .03, where another choice among them turned the plane by
# .5 rad; iris .2 to .3, a lattice .12 to 1; a roll rounded to a hundredth of its size .01, measured values none.
# Samples that it is measured on: 500 tell .03 to .008.
TIES_NOTED, TIED_ROWS = 0.02, 500

# Short circuits that were kept, from how many on they count.
CIRCUITS_COUNT = 3
# Eigenvalues below are rounding: those of a roll of a million samples are 1e-15, those of parts that hang together by
# nothing 1e-20 and less.
EIGENVALUE_ROUNDING = 1e-18
# So few samples with so many features are measured by all their distances, made once by products: a third of the time.
FEW_SAMPLES, MANY_FEATURES = 3000, 100
