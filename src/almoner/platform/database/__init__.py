"""PostgreSQL: transactions, connections, lists, the embedded server, and detection of copied databases."""
