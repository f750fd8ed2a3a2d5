"""What operators see: logs, metrics, readiness, the self-check."""
