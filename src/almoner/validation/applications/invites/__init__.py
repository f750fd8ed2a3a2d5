"""Validation invites: one-off links to the hosted form (spec 2.6, 4.6)."""
