"""Charges due subscriptions."""
