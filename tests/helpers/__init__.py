"""What tests share, and tools that compare two states of the code."""
