"""Appeals against failed submissions."""
