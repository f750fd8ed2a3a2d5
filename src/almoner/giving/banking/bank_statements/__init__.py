"""Statements of our bank accounts, and what each line of them is the movement of."""
