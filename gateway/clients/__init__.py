"""Clients: other programs that read and send events and order tasks, over HTTP and WebSockets."""
