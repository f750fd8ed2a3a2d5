"""Validation: whether a nonprofit is what it says, and whether an agent speaks for it."""
