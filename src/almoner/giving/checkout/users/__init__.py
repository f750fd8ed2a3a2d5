"""Users: opaque records that tie donations to somebody in the partner's product."""
