"""Donation subscriptions: the record, its changes, and its API."""
