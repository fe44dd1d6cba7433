"""The bus and the tapes for other programs, over real HTTP and a real store."""
