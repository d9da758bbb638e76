"""The version, alone in a file so that asking for it loads nothing else."""

__version__ = "0.1.0"
