"""The honest control: plain LLE's eigenvectors in hne's chart, on the same neighbors, cuts and ridge."""

from dataclasses import replace

from hne.core.chart.chart import draw_charts
from hne.core.eigenpairs import embedded_pieces
from hne.core.neighbors.graph import neighbor_graph
from hne.core.parameters import check_parameters
from hne.core.pieces.split import split_into_pieces
from hne.core.records import FloatArray
from hne.core.samples.canonical import canonicalize
from hne.core.samples.check import check_samples
from hne.core.short_circuits.cut import cut_short_circuits
from hne.core.tangent.frames import flat_share
from hne.core.weights.layers import layer_weights
from hne.settings import fill_defaults


def lle_chart(X: FloatArray) -> FloatArray:
    """Embed as `HNE()` does, but for the joint weights, in whose place the inner ones stand: G is LLE's, twice."""
    wished, _, unset = check_parameters({"coordinates": "chart"})
    distinct, units, places, settings = canonicalize(check_samples(X, wished), wished)
    share = flat_share(places, settings.n_components, settings.metric, settings.metric_params, 1)
    settings = fill_defaults(settings, unset, share, places.shape[0])
    circuits = cut_short_circuits(places, neighbor_graph(places, settings, distinct, 1), settings)
    found = split_into_pieces(places, circuits.graph, settings, 1)
    weights = layer_weights(places, found.graph, settings, 1)
    parts = embedded_pieces(places, replace(weights, J=weights.W), found.pieces, settings, 1)
    drawn = draw_charts(places, found.graph, circuits.pairs, parts, found.pieces, share, settings, 1)
    return units.restore_lengths(drawn.Y)[distinct.inverse]
