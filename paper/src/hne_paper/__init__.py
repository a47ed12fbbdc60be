"""The paper's experiments, run again: its figures, its tables, and what of its claims holds."""

__version__ = "0.1.0"
