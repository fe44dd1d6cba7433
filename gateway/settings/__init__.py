"""Settings from `parley.toml`, `.env`, the environment and flags, as one tree."""
