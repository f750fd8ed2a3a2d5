"""Statements: all donations of a donor through one partner in a period, for anybody who reads the donor's mailbox."""
