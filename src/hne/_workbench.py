"""Where the walk does its work and keeps what it makes: here, in the memory and with the threads of this process.

Other benches (`hne.scale`) do the same steps with the same functions elsewhere, and keep their results on disk.
"""

from hne._circuits import cut_short_circuits
from hne._forecast import check_fits
from hne._parts import Found, Parts, embedded_pieces, found_pieces, without_isolated
from hne._reconstruction import reconstruction_errors
from hne._samples import Samples, width
from hne._start import at_places, neighbor_graph
from hne._threads import library_threads, thread_count
from hne._types import Distinct, FloatArray, NeighborGraph, Pieces, Settings, ShortCircuits, Weights
from hne._units import Units
from hne._weights import layer_weights

# Fewer samples need no forecast: its own tenth of a second would be felt, and few machines are too small.
FORECAST_MIN_SAMPLES = 50_000


class Workbench:
    """The steps of the walk that are the same wherever they are done."""

    stages_before = 0  # stages that `at_places` tells of

    def __init__(self, n_threads: int | None = None) -> None:
        self._n_threads = n_threads

    def n_threads(self, settings: Settings) -> int:
        """Threads of every step: those of the bench, or as the settings say."""
        return self._n_threads or thread_count(settings.n_jobs)

    def at_places(self, X: Samples, settings: Settings) -> tuple[Distinct, Units, Samples, Settings]:
        """Which samples are distinct, those in the units of the walk, and settings with what they tell."""
        return at_places(X, settings)

    def check_fits(self, X: Samples, settings: Settings) -> None:
        """Refuse what will not fit into memory."""
        if X.shape[0] >= FORECAST_MIN_SAMPLES:
            check_fits(X.shape[0], width(X), settings)

    def graph(self, X: Samples, settings: Settings, distinct: Distinct, n_threads: int) -> NeighborGraph:
        """The neighbors of each place."""
        return neighbor_graph(X, settings, distinct, n_threads)

    def short_circuits(self, X: Samples, graph: NeighborGraph, settings: Settings) -> ShortCircuits:
        """The short circuits of the graph, and the graph without them where the settings say so."""
        # Far links of isolated samples first: beside these, what ties the isolated to each other seems not to matter.
        return cut_short_circuits(X, without_isolated(graph, settings), settings)

    def pieces(self, X: Samples, graph: NeighborGraph, settings: Settings, n_threads: int) -> Found:
        """The pieces of the graph, and the graph as the walk goes on with it."""
        return found_pieces(X, graph, settings, n_threads)

    def weights(self, X: Samples, graph: NeighborGraph, settings: Settings, n_threads: int) -> Weights:
        """Both layers of weights."""
        return layer_weights(X, graph, settings, None, n_threads)

    def parts(self, X: Samples, weights: Weights, pieces: Pieces, settings: Settings, n_threads: int) -> Parts:
        """The embedding, piece by piece."""
        return embedded_pieces(X, weights, pieces, settings, n_threads)

    def errors(self, X: Samples, weights: Weights) -> FloatArray:
        """How far off each sample is when it is rebuilt, in the units of the walk."""
        with library_threads(1):
            return reconstruction_errors(X, weights.J)


IN_MEMORY = Workbench()
