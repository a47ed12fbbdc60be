"""Hostile inputs by the thousand: each must give a finite embedding or an error of hne, and nothing else.

`python -m tests.fuzz` runs them in processes of their own; `tests/test_hostile.py` a few hundred in the fast suite.
"""
