"""The same work without the house around it: what it costs to have keys, limits, validation, logs and links."""
