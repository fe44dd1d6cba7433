"""What agents say: pages, delivery, receipts, signs of work."""
