"""A fitted model -> one file, and back, without pickle. docs/format.md is its description."""
