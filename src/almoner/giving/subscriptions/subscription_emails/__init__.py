"""Emails that tell donors what becomes of their regular donations."""
