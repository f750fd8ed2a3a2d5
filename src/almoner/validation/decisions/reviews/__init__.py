"""Reviews: one queue for everything that a person decides."""
