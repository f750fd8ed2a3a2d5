"""Received files: checked in a child process with its own limits, and kept sealed outside the web root."""
