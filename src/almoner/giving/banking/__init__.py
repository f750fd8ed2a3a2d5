"""Our own bank: the payment files it executes and the statements it sends."""
