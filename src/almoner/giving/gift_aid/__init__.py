"""Gift Aid: donors' declarations and the claims made to HMRC (settled 4)."""
