"""What can be read in a program and is probably a mistake."""
