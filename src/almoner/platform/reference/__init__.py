"""The reference of the interface, one page at /docs made from its description: no scripts, nothing from elsewhere."""
