"""A front and its agent nodes on one machine, kept alive by the process that started them."""
