"""What overdeletion and counting share: a list of deleted facts, and a queue of the heads they retract.

Every deleted fact has its turn once, and is SPREAD (the paper's O) afterwards.  Every instance is visited
once, when the first of its deleted facts has its turn.  Few facts have their turns one by one: facts in O
match nothing, and atoms before the pivot do not match the pivot.  Many facts have their turns as a block N
(WAITING), in a scan by the block executor: atoms before the pivot match I - (O ∪ N), atoms after it I - O.

The kernel begins a block and returns SCAN; when it is called again the scan is over, and it ends the block.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tidalog.engine.bits import SPREAD, WAITING
from tidalog.engine.fact_kernels import Facts
from tidalog.engine.jit import inlined

# control[…]
NEXT: Final = 0  # the next deleted fact
QUEUED: Final = 1  # heads in the queue
BUDGET: Final = 2
BLOCK_END: Final = 3  # where the block under way ends, if after NEXT
RETRACTION: Final = 4

SCAN: Final = 8  # beside the reasons of `opcodes`: a block is to be scanned
LEAST_BLOCK: Final = 16  # facts that are worth a block
MOST_BLOCK: Final = 4096


# --- compiled ---------------------------------------------------------------------------------------


@inlined
def end_block(facts: Facts, deleted: np.ndarray, control: np.ndarray) -> None:
    """The facts of a block that has been scanned move from N to O."""
    for i in range(control[NEXT], control[BLOCK_END]):
        facts.status[deleted[i]] = (facts.status[deleted[i]] | SPREAD) & ~WAITING
    control[NEXT] = max(control[NEXT], control[BLOCK_END])
