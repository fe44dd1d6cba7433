"""The nodes of one gateway: who lives, and who holds which shards and bots."""
