"""Tasks of clients: orders, views of their progress, and the routes to both."""
