"""Provider payouts: reports of what providers paid out to us, reconciled line by line."""
