"""Lua that runs on the server. Each script is one change, made completely or not at all."""
