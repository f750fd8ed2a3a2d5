"""Monitoring subscriptions: watchlist and register status of an organisation, with notifications of changes."""
