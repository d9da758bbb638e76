"""Anything that happened becomes an event, once, whatever way it came."""
