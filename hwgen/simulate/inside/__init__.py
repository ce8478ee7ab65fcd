"""Modules that run inside a simulator; they import no others of this project, which would cost each run a second."""
