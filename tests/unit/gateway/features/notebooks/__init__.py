"""Tests of the tape service that need no server."""
