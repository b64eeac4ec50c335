"""The command line: `python -m bench.peers_incremental`; prints one line of JSON a peer."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from bench.compare import NOT_INSTALLED
from bench.generators import random_digraph
from bench.peers_incremental.contest import PEERS, contest, install_pathway
from bench.peers_incremental.task import chosen
from bench.process import OK, Limits


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.peers_incremental")
    parser.add_argument("--nodes", type=int, default=2_000)
    parser.add_argument("--edges", type=int, default=4_000)
    parser.add_argument("--changes", type=int, default=100, help="edges deleted and inserted again (100)")
    parser.add_argument("--seconds", type=float, default=120.0, help="no change begins later than this (120)")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds a run may take in all (600)")
    parser.add_argument("--memory", type=float, default=12.0, metavar="GIB", help="memory of a run (12)")
    parser.add_argument("--only", action="append", choices=[peer.key for peer in PEERS])
    parser.add_argument("--install-pathway", action="store_true", help="install Pathway and stop")
    asked = parser.parse_args(arguments)
    if asked.install_pathway:
        install_pathway()
        return 0
    table = random_digraph(asked.nodes, asked.edges)
    edges = list(zip(table["x"].to_pylist(), table["y"].to_pylist(), strict=True))
    peers = [peer for peer in PEERS if not asked.only or peer.key in asked.only]
    limits = Limits(asked.timeout, int(asked.memory * 2**30))
    found = contest(peers, edges, chosen(edges, asked.changes), asked.seconds, limits)
    for figures in found:
        print(json.dumps(asdict(figures)))
    return 0 if all(figures.status in (OK, NOT_INSTALLED) for figures in found) else 1


if __name__ == "__main__":
    sys.exit(main())
