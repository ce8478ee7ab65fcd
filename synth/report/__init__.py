"""The report: data, chapters, pages."""
