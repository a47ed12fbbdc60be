"""Hostile inputs and files by the thousand: each must give a sound result or an error of hne, and nothing else.

`python -m tests.fuzz` runs arrays in processes of their own, `--target files` files of every kind that were changed by
bytes or by structure, `--target MAT` and so on one kind; `tests/test_hostile.py` a few hundred in the fast suite.
"""
