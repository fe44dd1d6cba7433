"""Notifications by Web Push: keys, encryption, subscriptions, and what is sent to whom."""
