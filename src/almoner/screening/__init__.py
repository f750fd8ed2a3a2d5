"""Screening: whether a body or a person is on a list, and how well two names agree."""
