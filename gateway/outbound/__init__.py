"""Pages on their way out: handed to their platform's presenter, paced, with their files."""
