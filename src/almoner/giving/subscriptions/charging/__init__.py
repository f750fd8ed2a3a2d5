"""Charges the dates of plans that are due."""
