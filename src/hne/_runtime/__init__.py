"""What everything stands on and nothing of embeddings: threads, progress, files, memory, random numbers."""
