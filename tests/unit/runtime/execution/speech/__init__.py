"""What is said: pages, and how texts come together."""
