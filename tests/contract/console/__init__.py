"""The console over real HTTP and a real store."""
