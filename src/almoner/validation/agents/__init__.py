"""Agent verifications: the applicant is who they say they are, and speaks for the nonprofit (spec 4.1)."""
