"""Name matching with explained scores. Pure: no database, no network."""
