"""Regular donations: plans that donors agree to, and their dates."""
