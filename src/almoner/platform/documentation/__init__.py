"""The documentation site at /docs."""
