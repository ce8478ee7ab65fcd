"""The plots of the report, and the template, style and script of its page."""
