"""Keyed engines: thousands to millions of knowledge bases that do not see each other, on the executors.

    rows ─ validate ─▶ pack by bucket ─ shuffle ─▶ bucket: order, apply, log ─▶ unpack ─▶ changes with keys

A bucket of keys is one engine, whose program has the key as an argument (analysis/keyed.py), and one entry of
Spark's state.  `bucket` is that engine and knows nothing of Spark; `state` is what survives it; `processor`
stands between the two; `stream` is what a user calls.
"""
