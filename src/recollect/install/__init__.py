"""Recollect in the settings of an agent: put in by `recollect install`, taken out by `recollect uninstall`.

Settings belong to their user. What is there stays as it is to the byte, what is ours is told from what is theirs, and
taking out leaves what was there before.
"""
