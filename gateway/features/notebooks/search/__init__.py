"""Search in notebooks: words of any language, and an index that can be thrown away."""
