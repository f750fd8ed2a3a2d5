"""Mails to people who sign in: links, and what happened to their account."""
