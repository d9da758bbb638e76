"""Memory as tools for agents, over the Model Context Protocol: a message comes in, recalled text goes out as data."""
