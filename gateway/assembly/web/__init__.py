"""Everything on the web port: the chat, its log-in and rooms, the console, and the routes for clients."""
