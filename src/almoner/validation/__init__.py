"""Validation: whether a nonprofit is what it claims to be, and whether an agent may represent it."""
