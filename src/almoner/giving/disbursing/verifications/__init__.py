"""Monetary donation verifications: whether an organisation may be paid what was given for it."""
