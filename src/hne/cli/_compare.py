"""`hne compare`: the three variants and the rivals side by side."""
