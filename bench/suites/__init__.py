"""Suites: each turns options into finished sections.

A new suite is a module with a function from `Options` to sections and one line in `bench.suites.catalogue`.
"""
