"""Disputes: a donor's bank wants a paid gift back from its provider, and gets it or does not."""
