"""Donations: created, paid, cancelled, settled."""
