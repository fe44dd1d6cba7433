"""People and their rooms: whom one can write to, and what they do with rooms."""
