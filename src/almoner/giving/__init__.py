"""Donations: users, sessions, payments, gifts."""
