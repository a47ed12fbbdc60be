"""What runs on many machines: programs and engines beyond the memory of one."""
