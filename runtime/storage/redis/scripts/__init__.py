"""Lua that runs on the server: each script is one change, made whole or not at all."""
