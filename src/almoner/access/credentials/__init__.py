"""Credentials: passwords, one-time codes, recovery codes and passkeys."""
