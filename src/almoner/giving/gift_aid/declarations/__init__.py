"""Gift aid: declarations of UK taxpayers, and which gifts they cover (settled 4)."""
