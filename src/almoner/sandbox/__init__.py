"""Sandbox tools (settled 9): clock, simulated people, mailbox. Not available in production."""
