"""Files of any kind -> Table, and coordinates -> files."""
