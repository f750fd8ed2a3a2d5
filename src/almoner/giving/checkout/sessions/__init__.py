"""Donation sessions: one hosted page, one nonprofit, one donation, 24 hours."""
