"""The hosted pages of applications: the form, and where an application stands."""
