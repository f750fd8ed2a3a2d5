"""The review queue: everything that an operator must decide."""
