"""Participants in other processes: their WebSocket, and the library by which they connect."""
