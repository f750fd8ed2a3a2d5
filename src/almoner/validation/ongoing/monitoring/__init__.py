"""Monitoring subscriptions: what watch lists and registers say of an organisation, and telling when that changes."""
