"""Parts of `benchmarks.pages`: the servers that are measured, and the people at their pages."""
