"""Events told to partners: the list they can read, and signed POSTs to the addresses they name (spec 6, settled 7)."""
