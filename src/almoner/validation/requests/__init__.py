"""Validation requests: whether a nonprofit is what its register says, decided on stored evidence."""
