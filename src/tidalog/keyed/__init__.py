"""Buckets of keys: one database for the materialisations of many keys, which do not see each other.

    rows of a batch ─ split into sub-batches ─▶ bucket: apply, log ─▶ changes with their keys

A bucket's program has the key as the first argument of every predicate (analysis/keyed.py).  `bucket`
applies batches; `engines` caches the buckets of a process, with batches and results as bytes.
Nothing here imports Spark: `tidalog.spark.keyed` runs buckets on executors and keeps their state.
"""
