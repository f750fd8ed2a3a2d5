"""Asks nonprofits at their own address to confirm that they want to receive donations."""
