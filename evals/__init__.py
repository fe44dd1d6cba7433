"""Programs with people's lines and checks: what a model makes of them, counted. Run `python -m evals`."""
