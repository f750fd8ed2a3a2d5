"""Donation requests: partners are invoiced for a period's direct donations (settled 4, 5)."""
