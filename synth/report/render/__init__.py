"""Pages, plots and tables of the report."""
