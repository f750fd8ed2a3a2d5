"""Plans of regular donations: the record, its changes, its API calls."""
