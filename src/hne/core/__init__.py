"""From samples to an embedding: a module or a package for each stage, and the pipeline that runs them."""
