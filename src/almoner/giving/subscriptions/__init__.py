"""Regular gifts: plans that donors agree to, and their dates."""
