"""Donations by bank transfer (settled 5)."""
