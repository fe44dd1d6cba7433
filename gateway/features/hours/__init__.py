"""Hours: what came, what was answered and what failed in the last day, for the console's first screen."""
