"""Samples -> a page on which the embedding changes while knobs are turned: by a server, or in a notebook."""
