"""Our own bank: payment files for it, and its statements."""
