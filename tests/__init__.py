"""One file of tests a module of the package, and `reference`, the oracle."""
