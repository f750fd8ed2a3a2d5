"""Pages for single sign-on: redirecting to the identity provider and back, and its setup by owners."""
