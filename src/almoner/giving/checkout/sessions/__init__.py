"""Donation sessions: one hosted page, one nonprofit, one gift, 24 hours."""
