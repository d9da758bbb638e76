"""Learn: what repeats across sessions and agents, found in what was captured. Pure: nothing here reads a store."""
