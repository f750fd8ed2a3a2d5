"""Members of a partner and their groups, managed by owners, administrators and the partner's own directory."""
