"""HTTP: declared endpoints, wire models, errors, paging, and the outermost middleware."""
