"""Recalled things become text where the next run will see it: quoted as data, dated, within a budget."""
