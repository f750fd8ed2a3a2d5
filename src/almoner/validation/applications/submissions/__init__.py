"""Validation submissions: one application, every configured check, one answer."""
