"""The honest control: plain LLE's eigenvectors in hne's chart, on the same neighbors, cuts and ridge."""

from dataclasses import replace

from hne._circuits import cut_short_circuits
from hne._parts import embedded_pieces, found_pieces
from hne._rescaled import rescaled_coordinates
from hne._start import at_places, neighbor_graph
from hne._suited import suited
from hne._types import FloatArray
from hne._validation import check_samples, check_wishes
from hne._weights import layer_weights
from hne._yardstick import flat_share


def lle_chart(X: FloatArray) -> FloatArray:
    """Embed as `HNE()` does, but for the joint weights, in whose place the inner ones stand: G is LLE's, twice."""
    wished, _, unset = check_wishes({})
    distinct, units, places, settings = at_places(check_samples(X, wished), wished)
    share = flat_share(places, settings.n_components, settings.metric, settings.metric_params, 1)
    settings = suited(settings, unset, share, places.shape[0])
    circuits = cut_short_circuits(places, neighbor_graph(places, settings, distinct, 1), settings)
    found = found_pieces(places, circuits.graph, settings, 1)
    weights = layer_weights(places, found.graph, settings, None, 1)
    parts = embedded_pieces(places, replace(weights, J=weights.W), found.pieces, settings, 1)
    drawn = rescaled_coordinates(places, found.graph, circuits.pairs, parts, found.pieces, share, settings, 1)
    return units.undo_length(drawn.Y)[distinct.place]
