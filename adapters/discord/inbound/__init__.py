"""People's acts on Discord: received, decoded, confirmed."""
