"""Operators, their personal tokens, and approvals that need two operators."""
