"""Gift Aid: declarations of UK taxpayers, and which donations they cover (settled 4)."""
