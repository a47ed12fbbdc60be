// Requests for an embedding, never changed: each edit is a new one.

export function withParameter(request, name, value) {
  return { ...request, parameters: { ...request.parameters, [name]: value } };
}

export function isSameRequest(one, other) {
  return keyOf(one) === keyOf(other);
}

// Equal for requests that ask for the same, whatever the order of their names, columns and edges.
export function keyOf(request) {
  const parameters = Object.entries(request.parameters).sort(([a], [b]) => (a < b ? -1 : 1));
  const columns = request.columns && [...request.columns].sort();
  const edges = (pairs) => (pairs || []).map(edgeKey).sort();
  return JSON.stringify([parameters, request.scale, columns, edges(request.cut), edges(request.keep), Boolean(request.whole)]);
}

// An edge has no direction.
export function edgeKey([i, j]) {
  return i < j ? `${i} ${j}` : `${j} ${i}`;
}

function withoutEdge(pairs, edge) {
  return (pairs || []).filter((pair) => edgeKey(pair) !== edgeKey(edge));
}

function hasEdge(pairs, edge) {
  return (pairs || []).some((pair) => edgeKey(pair) === edgeKey(edge));
}

// Cut by hand; an edge that was put back by hand is cut by no longer putting it back.
export function cutEdge(request, edge) {
  if (hasEdge(request.keep, edge)) return { ...request, keep: withoutEdge(request.keep, edge) };
  return { ...request, cut: [...withoutEdge(request.cut, edge), edge] };
}

export function putBackEdge(request, edge) {
  if (hasEdge(request.cut, edge)) return { ...request, cut: withoutEdge(request.cut, edge) };
  return { ...request, keep: [...withoutEdge(request.keep, edge), edge] };
}

// Without an edit by hand, of either kind.
export function undoEdge(request, edge) {
  return { ...request, cut: withoutEdge(request.cut, edge), keep: withoutEdge(request.keep, edge) };
}

export function handEdits({ cut, keep }) {
  return [...(cut || []).map((edge) => ({ edge, kind: "cut" })), ...(keep || []).map((edge) => ({ edge, kind: "put back" }))];
}

// All samples or the patch: edges cut by hand are numbers of samples, which are others then.
export function withScope(request, whole) {
  return { ...request, whole, cut: [], keep: [] };
}
