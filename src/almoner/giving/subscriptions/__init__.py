"""Regular donations: subscriptions that donors agree to, and their due dates."""
