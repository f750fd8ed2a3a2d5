"""What money became of: the double-entry ledger and everything that corrects or reconciles it."""
