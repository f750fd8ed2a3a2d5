"""Submission configurations: which checks an application runs, what fails them, and how its form looks."""
