"""Statements: all donations of a donor through one partner in a period, for whoever has the donor's mailbox."""
