"""Eligibility subscriptions: whether an organisation's activities are allowed by the partner's configuration."""
