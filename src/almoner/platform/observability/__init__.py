"""Observability: logs, metrics, readiness, self-check."""
