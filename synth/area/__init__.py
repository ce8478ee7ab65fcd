"""Area and delay: jobs for Yosys, targets, recipes, cell libraries."""
