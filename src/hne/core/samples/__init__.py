"""X -> samples that the pipeline works with: checked, each once, in a scale that float64 bears."""
