"""The memory over HTTP: a gate before everything, then routes that speak JSON."""
