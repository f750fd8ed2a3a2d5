"""Eligibility subscriptions: what an organisation does, and whether the partner's configuration allows that."""
