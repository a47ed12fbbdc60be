"""What all stands on, nothing of embeddings: threads, progress, files, arrays on disk, memory, random numbers."""
