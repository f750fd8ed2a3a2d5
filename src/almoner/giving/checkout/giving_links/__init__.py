"""Giving links: permanent pages to give by, without code."""
