"""External tools, processes, files, and progress."""
