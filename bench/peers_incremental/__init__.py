"""Peers that keep a recursive result right under deletions, measured update by update.

The task: the closure of a random digraph, then edges deleted and inserted again, one at a time.  `task`
writes it to a folder; `pathway_runner` and `swi_runner` do it, each in a process of its own that prints JSON
and knows nothing of the other; `contest` starts them under a time limit and checks every count.

    python -m bench.peers_incremental                      both peers, the full size
    python -m bench.peers_incremental --nodes 300 --edges 600 --changes 5
    python -m bench.peers_incremental --install-pathway    Pathway, into an environment of its own

Pathway brings some 130 packages and holds pyarrow back; it is used from this environment if it is there,
otherwise from its own.  SWI-Prolog is used if `swipl` is on the PATH.
"""
