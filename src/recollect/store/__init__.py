"""Keep it, scoped, once: the ports a store fills, and the stores that fill them."""
