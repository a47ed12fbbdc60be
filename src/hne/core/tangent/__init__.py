"""Samples -> tangent frames, and what embeddings keep of them."""
