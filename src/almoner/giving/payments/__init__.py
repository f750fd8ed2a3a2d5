"""Payments: attempts to be paid by a provider, its notices, and money that had to be held."""
