"""The same work without the framework around it: what keys, limits, validation, logs and links cost."""
