"""Pages of the web chat and the console, without a browser."""
