"""Pure building blocks: standard library only, no time, no chance, no input or output."""
