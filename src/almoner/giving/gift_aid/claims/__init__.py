"""Gift aid claims: batches of gifts for HMRC, and what goes back when a claimed gift is one no more (settled 4)."""
