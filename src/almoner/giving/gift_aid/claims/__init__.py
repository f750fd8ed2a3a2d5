"""Gift Aid claims to HMRC, and adjustments of earlier claims (settled 4)."""
