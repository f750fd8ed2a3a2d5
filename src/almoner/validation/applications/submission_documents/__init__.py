"""Documents uploaded with an invite or a submission."""
