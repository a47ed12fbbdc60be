"""What a person looks at: plots by matplotlib, and reports of one HTML file."""
