"""The stored forms of data: JSON, whole or sealed."""
