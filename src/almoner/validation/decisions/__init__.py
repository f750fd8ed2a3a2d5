"""Decisions by people: the review queue, and appeals."""
