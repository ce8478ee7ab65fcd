"""Models in C: a header for each module, written from the format's tables and the rules of the specification."""
