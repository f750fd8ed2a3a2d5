"""Those who decide: operators, their personal tokens, and what two of them confirm."""
