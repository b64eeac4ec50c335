"""One file a peer: how it is given a job's facts and rules, and how its results are counted.

Nothing here knows of Tidalog or of another peer.  What a runner is: `bench.systems`.
"""
