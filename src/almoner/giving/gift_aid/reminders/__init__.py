"""Reminds donors once a year of a Gift Aid declaration for a regular donation, with a page to cancel it."""
