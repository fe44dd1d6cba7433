"""Archives: a SQLite file, or a PostgreSQL database."""
