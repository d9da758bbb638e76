"""The routes, by what they are for; each module has `router()`."""
