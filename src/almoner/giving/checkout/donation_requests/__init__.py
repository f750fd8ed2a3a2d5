"""Donation requests: partners are asked for a period's direct donations, and pay them (settled 4, 5)."""
