"""Gifts that were counted and go back to whoever paid, whole or in part."""
