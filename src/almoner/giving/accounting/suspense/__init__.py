"""Unallocated payments: received money that pays no donation, and what is done with it (M6)."""
