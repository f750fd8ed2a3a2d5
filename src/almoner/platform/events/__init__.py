"""Domain events: the outbox, their numbers, and the reactions to them."""
