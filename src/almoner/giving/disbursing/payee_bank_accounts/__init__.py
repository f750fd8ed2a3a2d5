"""Nonprofits' bank accounts and their approval."""
