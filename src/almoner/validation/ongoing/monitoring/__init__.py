"""Monitoring subscriptions: watch list and register status of an organisation, with notifications of changes."""
