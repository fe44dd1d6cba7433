"""Redis itself: clusters, outages, clocks, scripts, and fences against old writers."""
