"""What sessions remember of people, and where it comes up again."""
