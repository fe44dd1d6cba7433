"""Who the rooms of the browser chat are for."""
