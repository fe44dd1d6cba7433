"""A Discord, as the real client library sees it."""
