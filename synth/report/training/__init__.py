"""The study of training: what it trains and measures, its results, and the papers' claims."""
