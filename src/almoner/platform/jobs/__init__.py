"""Background work: the queue, its runner, periodic jobs, leases."""
