"""Files of payments that our bank is given, and what it answers (ISO 20022)."""
