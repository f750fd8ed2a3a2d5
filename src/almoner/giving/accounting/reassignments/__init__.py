"""Donations reassigned to another nonprofit."""
