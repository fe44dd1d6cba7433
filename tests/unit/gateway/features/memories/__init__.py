"""Finding memories, telling newer from older ones, and what is not remembered."""
