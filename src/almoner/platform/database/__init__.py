"""PostgreSQL: transactions, connections, paged lists, the embedded server, and telling a copy from the original."""
