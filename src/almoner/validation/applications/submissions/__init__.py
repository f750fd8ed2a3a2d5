"""Validation submissions: one application with all configured checks and one result."""
