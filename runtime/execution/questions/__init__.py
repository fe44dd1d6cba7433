"""What the runtime asks a model: words, values and choices; how they are asked together, and how answers are read."""
