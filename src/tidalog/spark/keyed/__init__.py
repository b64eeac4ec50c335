"""Buckets of keys on Spark's executors: `stream` is the API; Spark calls `processor` for each bucket.

    rows ─ validate ─▶ pack by bucket ─ shuffle ─▶ processor: bucket (tidalog.keyed) ─▶ unpack ─▶ changes

A bucket has one entry in Spark's state (`state`).  `worker_rpc` sends a batch to the worker process that has
the bucket's engine in memory.
"""
