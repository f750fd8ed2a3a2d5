"""Telling a donor by e-mail where a confirmed bank transfer goes, and that it is waited for."""
