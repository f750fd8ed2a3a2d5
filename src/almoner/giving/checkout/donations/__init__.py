"""Donations: what was promised, paid or cancelled."""
