"""The model's process, which makes requests to providers and knows nothing else of Parley."""
