"""Members of a partner and their groups, as owners, administrators and the partner's own directory manage them."""
