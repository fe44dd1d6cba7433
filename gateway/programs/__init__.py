"""The programs that a gateway serves: loaded, started as a command, connected with their tool servers."""
