"""The programs of a gateway: loaded, run as commands, connected with their tool servers."""
