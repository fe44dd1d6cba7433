"""The web chat over real sockets, and the store of its rooms."""
