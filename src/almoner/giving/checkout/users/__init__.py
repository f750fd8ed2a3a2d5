"""Users: opaque records that link donations to a person in the partner's product."""
