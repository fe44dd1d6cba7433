"""For who writes a program: what is probably wrong in it, what it does in plain English, and its common form."""
