"""Validation requests: whether a nonprofit is what its official register says, decided on kept evidence."""
