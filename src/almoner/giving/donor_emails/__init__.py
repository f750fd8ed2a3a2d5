"""Emails that tell a donor where a transfer goes, that money went back, or that a gift is for another nonprofit."""
