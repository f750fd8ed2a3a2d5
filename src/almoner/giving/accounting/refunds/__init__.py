"""Refunds of donations, whole or in part."""
