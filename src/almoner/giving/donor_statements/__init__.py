"""Statements: a donor's donations through one partner in a period, for anyone with access to the donor's mailbox."""
