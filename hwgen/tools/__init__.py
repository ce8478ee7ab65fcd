"""External tools, processes and files."""
