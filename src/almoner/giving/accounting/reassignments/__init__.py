"""Gifts that are given to another nonprofit than the one they were made for."""
