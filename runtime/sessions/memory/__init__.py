"""The memories that sessions make: brought to where other conversations find them, and taken back."""
