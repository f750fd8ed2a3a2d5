"""Payouts to nonprofits: the bucket of settled gifts, what it waits for, and the bank transfer it becomes."""
