"""Sessions that leave memory and come back."""
