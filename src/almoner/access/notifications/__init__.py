"""Emails: slices declare them; this package sends them, retries, and records undeliverable ones."""
