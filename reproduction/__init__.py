"""The paper's tables and figures, baselines and networks; used from a checkout, not installed."""
