"""Bank statements and their reconciliation line by line."""
