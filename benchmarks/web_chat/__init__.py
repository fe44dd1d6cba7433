"""The pages of the web chat and of the console, and the people who look at them."""
