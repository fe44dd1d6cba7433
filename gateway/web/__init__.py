"""ASGI routes: the chat page, health, readiness."""
