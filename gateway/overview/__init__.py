"""The whole gateway as routes of the bus: views of it, and acts of owners."""
