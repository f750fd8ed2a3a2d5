"""Browsers in which somebody is signed in, the ways in, and mailed links."""
