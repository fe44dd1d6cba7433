"""Whisper on this machine: a process of its own that writes down recordings (extra `voice`)."""
