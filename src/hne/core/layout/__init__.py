"""Weights, X -> Layout: coordinates that preserve neighborhoods and groups where no chart preserves distances."""
