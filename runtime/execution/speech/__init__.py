"""The speech of agents: pages, delivery, receipts, indicators."""
