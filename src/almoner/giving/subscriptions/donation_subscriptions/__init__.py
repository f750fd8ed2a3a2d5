"""Plans of regular gifts: the record, its changes, its calls."""
