"""Models: their text on its way into the gateway, and chains of them."""
