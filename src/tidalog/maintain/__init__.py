"""Algorithms over the embedded engine, one file each.

They choose plans, filters and order; the machine that runs plans knows none of them.
"""
