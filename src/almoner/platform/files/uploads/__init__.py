"""Received files: checked in a confined child process, and stored encrypted."""
