"""Marks: what is known about the next updates while one is applied.  One file each."""
