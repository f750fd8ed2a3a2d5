"""Emails to donors about their regular donations."""
