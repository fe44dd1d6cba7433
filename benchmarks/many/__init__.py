"""Parts of `benchmarks.scale`: many sessions on one node, and several nodes."""
