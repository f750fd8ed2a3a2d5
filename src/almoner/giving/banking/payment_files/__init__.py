"""Payment files for our bank and its status reports (ISO 20022)."""
