"""What there is to see of the whole gateway, and to do with it, as routes of the bus."""
