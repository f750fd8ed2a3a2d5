"""Payments: attempts to be paid by a provider, and its notices."""
