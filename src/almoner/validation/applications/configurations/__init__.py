"""Submission configurations: which checks an application runs, their criteria, and the form's branding."""
