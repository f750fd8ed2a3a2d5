"""Domain events: the outbox, sequence numbers, and reactions."""
