"""Almoner: validates nonprofits and takes donations for them."""

__version__ = "0.1.0"
