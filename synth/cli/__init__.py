"""The commands ``hwgen area``, ``sweep``, ``verify`` and ``report``."""
