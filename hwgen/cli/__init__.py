"""The command line's parts: options, batches, what a machine has."""
