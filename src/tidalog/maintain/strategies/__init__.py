"""Strategies: how a component loses facts.  One file each."""
