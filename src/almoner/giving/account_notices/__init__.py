"""Telling a nonprofit of an account that it is to be paid to, and hearing that it is not its own."""
