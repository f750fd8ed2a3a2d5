"""Sign-ins of browsers, sign-in methods, and emailed links."""
