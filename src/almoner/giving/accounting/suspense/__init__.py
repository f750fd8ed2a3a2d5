"""Money that a provider took and that pays no donation: why it is held, and what becomes of it (M6)."""
