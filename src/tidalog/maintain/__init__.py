"""Algorithms over the embedded engine, one file each.

They choose plans, filters and order; the executors of plans know none of them.
"""
