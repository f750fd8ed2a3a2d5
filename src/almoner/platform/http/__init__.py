"""HTTP: the declared-endpoint layer, wire models, errors, paging and the edge."""
