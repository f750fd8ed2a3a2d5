"""Payment attempts at providers, and their webhooks."""
