"""Agent verifications: whether an applicant is who they claim to be and represents the nonprofit (spec 4.1)."""
