"""Values that every other package shares: terms and their text, programs, errors.

Nothing here reads files, evaluates rules or imports another package of Tidalog.
"""
