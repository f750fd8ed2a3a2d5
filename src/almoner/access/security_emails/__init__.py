"""Emails to people who sign in: links, and changes to their account."""
