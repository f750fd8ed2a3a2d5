"""Documents of submissions: handed in with an invite or with a submission."""
