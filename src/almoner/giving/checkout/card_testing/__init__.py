"""Protection against card testing (H6, H7): velocity limits, decline counts, and a code by email (H11)."""
