"""The hosted application form, and the status page of an application."""
