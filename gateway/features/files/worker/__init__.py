"""The worker's own code: it decodes one file in a process that can do nothing else, and ends."""
