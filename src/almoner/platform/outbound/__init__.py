"""Outgoing traffic: HTTP calls, downloads, emails."""
