"""Emails: slices declare them, and this sends them, again if need be, and records what cannot be delivered."""
