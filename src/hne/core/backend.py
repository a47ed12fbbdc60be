"""Where the walk does its work and keeps what it makes: here, in the memory and with the threads of this process.

Other benches (`hne.scale`) do the same steps with the same functions elsewhere, and keep their results on disk.
"""

from hne._runtime.threads import limit_blas_threads, thread_count
from hne.core.eigenpairs import Found, PieceEmbeddings, embedded_pieces, split_into_pieces, without_isolated
from hne.core.forecast import check_fits
from hne.core.neighbors.graph import canonicalize, neighbor_graph
from hne.core.reconstruction import reconstruction_errors
from hne.core.records import FloatArray, NeighborGraph, Pieces, Settings, ShortCircuits, UniqueSamples, Weights
from hne.core.samples.kinds import Samples, width
from hne.core.samples.scaling import InputScaling
from hne.core.short_circuits.cut import cut_short_circuits
from hne.core.weights.layers import layer_weights

# Fewer samples need no forecast: its own tenth of a second would be felt, and few machines are too small.
FORECAST_MIN_SAMPLES = 50_000


class Backend:
    """The steps of the walk that are the same wherever they are done."""

    stages_before = 0  # stages that `at_places` tells of

    def __init__(self, n_threads: int | None = None) -> None:
        self._n_threads = n_threads

    def n_threads(self, settings: Settings) -> int:
        """Threads of every step: those of the bench, or as the settings say."""
        return self._n_threads or thread_count(settings.n_jobs)

    def canonicalize(self, X: Samples, settings: Settings) -> tuple[UniqueSamples, InputScaling, Samples, Settings]:
        """Which samples are distinct, those in the units of the walk, and settings with what they tell."""
        return canonicalize(X, settings)

    def check_fits(self, X: Samples, settings: Settings) -> None:
        """Refuse what will not fit into memory."""
        if X.shape[0] >= FORECAST_MIN_SAMPLES:
            check_fits(X.shape[0], width(X), settings)

    def graph(self, X: Samples, settings: Settings, distinct: UniqueSamples, n_threads: int) -> NeighborGraph:
        """The neighbors of each place."""
        return neighbor_graph(X, settings, distinct, n_threads)

    def short_circuits(self, X: Samples, graph: NeighborGraph, settings: Settings) -> ShortCircuits:
        """The short circuits of the graph, and the graph without them where the settings say so."""
        # Far links of isolated samples first: beside these, what ties the isolated to each other seems not to matter.
        return cut_short_circuits(X, without_isolated(graph, settings), settings)

    def pieces(self, X: Samples, graph: NeighborGraph, settings: Settings, n_threads: int) -> Found:
        """The pieces of the graph, and the graph as the walk goes on with it."""
        return split_into_pieces(X, graph, settings, n_threads)

    def weights(self, X: Samples, graph: NeighborGraph, settings: Settings, n_threads: int) -> Weights:
        """Both layers of weights."""
        return layer_weights(X, graph, settings, None, n_threads)

    def parts(
        self, X: Samples, weights: Weights, pieces: Pieces, settings: Settings, n_threads: int
    ) -> PieceEmbeddings:
        """The embedding, piece by piece."""
        return embedded_pieces(X, weights, pieces, settings, n_threads)

    def errors(self, X: Samples, weights: Weights) -> FloatArray:
        """How far off each sample is when it is rebuilt, in the units of the walk."""
        with limit_blas_threads(1):
            return reconstruction_errors(X, weights.J)


IN_MEMORY = Backend()
