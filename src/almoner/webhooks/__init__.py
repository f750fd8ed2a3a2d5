"""Webhooks: events for partners, their subscriptions and signed deliveries (spec 6, settled 7)."""
