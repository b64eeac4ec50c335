"""Backward/Forward: Algorithm 1 of paper 001, blocks a to d, over one component.

Sets are bits: C CHECKED, D DELETED, V PROVED, W WAITING, Y DELAYED.  What lower components hold counts as
explicit here.  Lists beside them: W is a stack, of which facts that left it otherwise are passed over; V and
D wait in queues for their turn to be matched (SATURATED and SPREAD: they have had it), so every instance is
met once, when the last of its facts in V, or the first in D, has its turn.

A fact in W has a search of its own, kept with its place on the stack.  D and W ∪ C only grow before the end,
so an instance that was passed over once can be passed over for good, and the search goes on where it stopped.

Orders of work:

PAPER   blocks by their letters: what stays unproved is deleted when nothing is left to be affected.
OURS    what stays unproved is deleted at once, so that it supports no later search.
LAYERS  all facts that one step reaches from what is deleted are affected before any is checked (F/B/F).
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tidalog.engine.addresses import (
    PLANS,
    Block,
    block_of,
    facts_at,
    indexes_at,
    log_at,
    plans_at,
    terms_at,
)
from tidalog.engine.bits import (
    CHECKED,
    DELAYED,
    DELETED,
    DOOMED,
    EXPLICIT,
    MARKED,
    NEW,
    PRESENT,
    PROVED,
    RECORDED,
    SATURATED,
    SPREAD,
    WAITING,
)
from tidalog.engine.delta_scan import Plans
from tidalog.engine.derivation_log import END, chain_of, head_of_link, next_link, none_is_left, take_off
from tidalog.engine.dictionary_kernels import Terms
from tidalog.engine.emit import note
from tidalog.engine.fact_kernels import HEADER, Facts
from tidalog.engine.jit import inlined, int32_at, int64_at, uint8_at
from tidalog.engine.opcodes import DONE, GROW_LOG, GROW_TERMS, PAUSE
from tidalog.engine.plan_compiler import Code
from tidalog.engine.tuple_executor import (
    FOUND,
    NO_ROOM,
    STEP,
    derives,
    head_of,
    next_instance,
    start_search,
    view_of,
)
from tidalog.engine.undo_log import PAIRS, Log, clear_bits, set_bits
from tidalog.maintain.kernels.affected import predicate_of
from tidalog.maintain.kernels.jit import compiled
from tidalog.maintain.kernels.search import (
    BACKWARD,
    CHECKS,
    COUNTERS,
    DELETIONS,
    DERIVATIONS,
    FORWARD,
    FROM_RECORD,
    INSTANCES_OF_A_STEP,
    MOST_ATOMS,
    SPARED,
    Ints,
    Search,
    new_search,
    search_at,
)
from tidalog.maintain.workspace import Workspace

PAPER: Final = 0
OURS: Final = 1
LAYERS: Final = 2

# control[…]
ORDER: Final = 0
TOP: Final = 1  # places of the stack in use
PROVEN: Final = 2  # facts in the queue of V
PROVEN_NEXT: Final = 3  # the next one to be matched
GONE: Final = 4  # facts in the queue of D, lower ones too
GONE_NEXT: Final = 5
CHECKED_COUNT: Final = 6  # facts of C in the order they came
CHECKED_NEXT: Final = 7  # the first that block d has not looked at
AFFECTED: Final = 8  # facts that are affected from the start
AFFECTED_NEXT: Final = 9
MATCHING: Final = 10  # block a: whether its search is under way
MATCH_PLAN: Final = 11
SPREADING: Final = 12  # block c: whether its search is under way
SPREAD_PLAN: Final = 13
RECORD_NEXT: Final = 14  # block c: the next link of the book, -1 before the first
BUDGET: Final = 15
CURRENT: Final = 16
LINKS: Final = 17  # whether proofs are noted in the log
MARKS: Final = 18  # whether proofs mark their heads
MARKED_COUNT: Final = 19
ROOTS: Final = 20  # LAYERS: places of the stack that wait for the layer to be whole
CONTROL: Final = 24

# What a block says.
NOTHING: Final = -1
APPLIED: Final = -2
GROW_STACK: Final = 7  # beside the reasons of `opcodes`

MATCH_DEPTH: Final = 0  # searches[0] is block a's, searches[1] block c's, then one per place of the stack
SPREAD_DEPTH: Final = 1
STACK_DEPTH: Final = 2
FIRST_STACK: Final = 256


class BackwardForward(NamedTuple):
    stack: Ints
    plan: Ints  # [place of the stack]: plans begun, + 1 while one is under way it is the last of these
    proven: Ints
    gone: Ints
    checked: Ints
    affected: Ints
    marked: Ints
    own: npt.NDArray[np.uint8]  # [predicate]: whether the component derives it
    control: npt.NDArray[np.int64]
    counters: npt.NDArray[np.int64]


class BackwardForwardRoom:
    """The work of one component and its searches, one for each place of the stack, kept from one update to
    the next with their addresses."""

    def __init__(self, codes: Sequence[Code]) -> None:
        nothing = np.empty(0, np.int32)
        control, counters = np.zeros(CONTROL, np.int64), np.zeros(COUNTERS, np.int64)
        own = np.empty(0, np.uint8)
        self.work = BackwardForward(*(nothing,) * 7, own, control, counters)
        self.search = new_search(codes, FIRST_STACK + STACK_DEPTH)
        self.at = block_of(self.work)
        self.search_at = self._search_block()

    def _search_block(self) -> Block:
        return block_of([self.search.registers, self.search.cursors, *self.search.scratch])

    def start(
        self,
        order: int,
        gone: Ints,
        affected: Ints,
        own: npt.NDArray[np.uint8],
        workspace: Workspace,
        room: int,
    ) -> None:
        """`gone`: facts that are deleted; `affected`: facts that must be checked; `room`: facts there are."""
        before = self.work
        queue = workspace.ids("gone", room + len(gone))
        queue[: len(gone)] = gone
        control = before.control
        control[:] = 0
        before.counters[:] = 0
        control[ORDER], control[GONE], control[AFFECTED] = order, len(gone), len(affected)
        control[RECORD_NEXT] = -1
        work = BackwardForward(
            before.stack,
            before.plan,
            workspace.ids("proven", room),
            queue,
            workspace.ids("checked", room),
            affected,
            workspace.ids("marked", room),
            own,
            control,
            before.counters,
        )
        same = all(map(is_, work, before))
        self.work = work
        if not same:
            self.at = block_of(work)
        self.make_room(FIRST_STACK)

    def make_room(self, size: int) -> None:
        """A stack of so many places."""
        work, search = self.work, self.search
        if size <= len(work.stack):
            return
        stack, plan = np.empty(size, np.int32), np.empty(size, np.int32)
        stack[: len(work.stack)], plan[: len(work.plan)] = work.stack, work.plan
        self.work = work._replace(stack=stack, plan=plan)
        self.at = block_of(self.work)
        depth, old = size + STACK_DEPTH, len(search.registers)
        if depth > old:
            registers = np.empty((depth, search.registers.shape[1]), np.int32)
            cursors = np.empty((depth, search.cursors.shape[1]), np.int64)
            registers[:old], cursors[:old] = search.registers, search.cursors
            self.search = search._replace(registers=registers, cursors=cursors)
            self.search_at = self._search_block()


# --- compiled ---------------------------------------------------------------------------------------


@inlined
def work_at(block: np.ndarray) -> BackwardForward:
    return BackwardForward(
        int32_at(block[0], block[1]),
        int32_at(block[4], block[5]),
        int32_at(block[8], block[9]),
        int32_at(block[12], block[13]),
        int32_at(block[16], block[17]),
        int32_at(block[20], block[21]),
        int32_at(block[24], block[25]),
        uint8_at(block[28], block[29]),
        int64_at(block[32], block[33]),
        int64_at(block[36], block[37]),
    )


@inlined
def prove_fact(facts: Facts, log: Log, work: BackwardForward, fact: int) -> None:
    """V gets a fact."""
    if not facts.status[fact] & PROVED:
        set_bits(facts, log, fact, PROVED)
        work.proven[work.control[PROVEN]] = fact
        work.control[PROVEN] += 1


@inlined
def check_fact(facts: Facts, log: Log, work: BackwardForward, fact: int) -> None:
    """A fact leaves W for C."""
    clear_bits(facts, log, fact, WAITING)
    if not facts.status[fact] & CHECKED:
        set_bits(facts, log, fact, CHECKED)
        work.checked[work.control[CHECKED_COUNT]] = fact
        work.control[CHECKED_COUNT] += 1


@inlined
def wait(facts: Facts, log: Log, work: BackwardForward, fact: int) -> None:
    """W gets a fact; there is room on the stack."""
    set_bits(facts, log, fact, WAITING)
    top = work.control[TOP]
    work.stack[top] = fact
    work.plan[top] = 0
    work.control[TOP] = top + 1


@compiled
def wait_all(shared: np.ndarray, of_work: np.ndarray, ids: np.ndarray) -> None:
    """Puts facts on the stack before anything else, the last one on top; there is room for them."""
    facts, log, work = facts_at(shared), log_at(shared), work_at(of_work)
    for i in range(len(ids)):
        if (facts.status[ids[i]] & (PRESENT | DELETED | WAITING)) == PRESENT:
            wait(facts, log, work, ids[i])


@inlined
def forward_step(
    facts: Facts,
    terms: Terms,
    view: np.ndarray,
    plans: Plans,
    search: Search,
    log: Log,
    work: BackwardForward,
) -> int:
    """Block a, lines 11 to 16: one instance of proved facts that proves another."""
    control = work.control
    registers, cursor = search.registers[MATCH_DEPTH], search.cursors[MATCH_DEPTH]
    while True:
        if control[MATCHING] == 0:
            if control[PROVEN_NEXT] == control[PROVEN]:
                return NOTHING
            fact = work.proven[control[PROVEN_NEXT]]
            if control[MATCH_PLAN] == 0:
                set_bits(facts, log, fact, SATURATED)
            predicate = predicate_of(facts, fact)
            j = plans.first[predicate] + control[MATCH_PLAN]
            if j >= plans.first[predicate + 1]:
                control[PROVEN_NEXT] += 1
                control[MATCH_PLAN] = 0
                continue
            control[MATCH_PLAN] += 1
            control[CURRENT] = plans.order[j]
            at = plans.starts[plans.order[j]]
            if not start_search(view, at, fact, registers, cursor):
                continue
            control[MATCHING] = 1
        found = next_instance(terms, view, registers, cursor, search.scratch)
        if found == NO_ROOM:
            return GROW_TERMS
        if found != FOUND:
            control[MATCHING] = 0
            continue
        work.counters[DERIVATIONS] += 1
        head = head_of(view, registers, cursor)
        if head < 0 or facts.status[head] & (PROVED | DELAYED):
            continue
        work.counters[FORWARD] += 1
        if control[LINKS] != 0 or control[MARKS] != 0:
            pc = -1 - cursor[STEP]
            observe_proof(facts, log, work, plans.code, pc + 5 + plans.code[pc + 4], registers, head)
        if facts.status[head] & WAITING:
            check_fact(facts, log, work, head)
            prove_fact(facts, log, work, head)
        elif facts.status[head] & CHECKED:
            prove_fact(facts, log, work, head)
        else:
            set_bits(facts, log, head, DELAYED)
        return APPLIED


@compiled
def observe_proof(
    facts: Facts, log: Log, work: BackwardForward, code: np.ndarray, at: int, registers: np.ndarray, head: int
) -> None:
    """Line 12: marks or links from the explicit facts of a proof; room in the log has been made."""
    control = work.control
    if control[LINKS] != 0:
        note(log, np.uint32(0), facts.offset[head])
    for j in range(code[at]):
        fact = registers[code[at + 1 + j]]
        bits = facts.status[fact]
        if not bits & EXPLICIT:
            continue
        if control[LINKS] != 0:
            note(log, facts.offset[fact], facts.offset[head])
        if control[MARKS] != 0 and bits & DOOMED and not facts.status[head] & MARKED:
            set_bits(facts, log, head, MARKED)
            work.marked[control[MARKED_COUNT]] = head
            control[MARKED_COUNT] += 1


@inlined
def backward_step(
    facts: Facts,
    terms: Terms,
    view: np.ndarray,
    plans: Plans,
    search: Search,
    log: Log,
    work: BackwardForward,
) -> int:
    """Block b, lines 17 to 22, for the last fact of W."""
    control = work.control
    while control[TOP] > 0 and not facts.status[work.stack[control[TOP] - 1]] & WAITING:
        control[TOP] -= 1
    if control[TOP] == 0:
        return NOTHING
    place = control[TOP] - 1
    fact = np.int64(work.stack[place])
    predicate = predicate_of(facts, fact)
    if facts.status[fact] & (EXPLICIT | DELAYED) or work.own[predicate] == 0:
        check_fact(facts, log, work, fact)
        prove_fact(facts, log, work, fact)
        return APPLIED
    registers, cursor = search.registers[STACK_DEPTH + place], search.cursors[STACK_DEPTH + place]
    if work.plan[place] == 0:
        work.counters[CHECKS] += 1
    while True:
        if work.plan[place] <= 0:
            j = plans.first[predicate] - work.plan[place]
            if j >= plans.first[predicate + 1]:
                check_fact(facts, log, work, fact)
                return APPLIED
            work.plan[place] -= 1
            control[CURRENT] = plans.order[j]
            at = plans.starts[plans.order[j]]
            if not start_search(view, at, fact, registers, cursor):
                continue
            work.plan[place] = -work.plan[place]
        found = next_instance(terms, view, registers, cursor, search.scratch)
        if found == NO_ROOM:
            return GROW_TERMS
        if found != FOUND:
            work.plan[place] = -work.plan[place]
            continue
        work.counters[DERIVATIONS] += 1
        if not derives(view, registers, cursor, fact):
            continue
        pc = -1 - cursor[STEP]
        body = pc + 5 + plans.code[pc + 4]
        if plans.code[body] == 0:  # a rule without atoms: true whatever the facts are
            check_fact(facts, log, work, fact)
            prove_fact(facts, log, work, fact)
            return APPLIED
        added = 0
        for j in range(plans.code[body]):
            other = registers[plans.code[body + 1 + j]]
            if not facts.status[other] & (WAITING | CHECKED):
                wait(facts, log, work, other)
                added += 1
        if added > 0:
            work.counters[BACKWARD] += 1
            return APPLIED


@inlined
def affect(facts: Facts, log: Log, work: BackwardForward, head: int, counter: int) -> bool:
    """Line 24, if the fact is neither waiting nor checked."""
    if (facts.status[head] & (PRESENT | NEW | DELETED | WAITING | CHECKED)) != PRESENT:
        return False
    work.counters[counter] += 1
    wait(facts, log, work, head)
    return True


@inlined
def affect_step(
    facts: Facts,
    terms: Terms,
    view: np.ndarray,
    plans: Plans,
    search: Search,
    log: Log,
    work: BackwardForward,
) -> int:
    """Block c, lines 23 and 24: one fact that an instance with a deleted fact derives."""
    control = work.control
    while control[AFFECTED_NEXT] < control[AFFECTED]:
        fact = work.affected[control[AFFECTED_NEXT]]
        control[AFFECTED_NEXT] += 1
        if affect(facts, log, work, fact, DELETIONS):
            return APPLIED
    registers, cursor = search.registers[SPREAD_DEPTH], search.cursors[SPREAD_DEPTH]
    while True:
        if control[SPREADING] == 0:
            if control[GONE_NEXT] == control[GONE]:
                return NOTHING
            fact = np.int64(work.gone[control[GONE_NEXT]])
            if facts.status[fact] & RECORDED:
                if control[RECORD_NEXT] < 0:
                    control[RECORD_NEXT] = chain_of(log.book, fact)
                while control[RECORD_NEXT] != END:
                    link = control[RECORD_NEXT]
                    at = head_of_link(log.book, link)
                    control[RECORD_NEXT] = next_link(log.book, link)
                    if at < 0 or work.own[facts.arguments[at - 1]] == 0:
                        continue
                    head = np.int64(facts.arguments[at - HEADER])
                    take_off(log.book, link, head)
                    bits = facts.status[head] & (PRESENT | NEW | DELETED | WAITING | CHECKED | EXPLICIT)
                    if control[ORDER] != PAPER and bits == PRESENT and none_is_left(log.book, head):
                        work.counters[FROM_RECORD] += 1
                        work.counters[SPARED] += 1
                        set_bits(facts, log, head, DELETED)
                        work.gone[control[GONE]] = head
                        control[GONE] += 1
                    elif affect(facts, log, work, head, FROM_RECORD):
                        return APPLIED
                control[RECORD_NEXT] = -1
                set_bits(facts, log, fact, SPREAD)
                control[GONE_NEXT] += 1
                continue
            predicate = predicate_of(facts, fact)
            j = plans.first[predicate] + control[SPREAD_PLAN]
            if j >= plans.first[predicate + 1]:
                set_bits(facts, log, fact, SPREAD)
                control[GONE_NEXT] += 1
                control[SPREAD_PLAN] = 0
                continue
            control[SPREAD_PLAN] += 1
            control[CURRENT] = plans.order[j]
            at = plans.starts[plans.order[j]]
            if not start_search(view, at, fact, registers, cursor):
                continue
            control[SPREADING] = 1
        found = next_instance(terms, view, registers, cursor, search.scratch)
        if found == NO_ROOM:
            return GROW_TERMS
        if found != FOUND:
            control[SPREADING] = 0
            continue
        work.counters[DERIVATIONS] += 1
        head = head_of(view, registers, cursor)
        if head >= 0 and affect(facts, log, work, head, DELETIONS):
            return APPLIED


@inlined
def disprove_step(facts: Facts, log: Log, work: BackwardForward) -> int:
    """Block d, line 25: D gets what was checked and stays unproved."""
    control = work.control
    before = control[GONE]
    for i in range(control[CHECKED_NEXT], control[CHECKED_COUNT]):
        fact = work.checked[i]
        if not facts.status[fact] & (PROVED | DELETED):
            set_bits(facts, log, fact, DELETED)
            work.gone[control[GONE]] = fact
            control[GONE] += 1
    control[CHECKED_NEXT] = control[CHECKED_COUNT]
    return APPLIED if control[GONE] > before else NOTHING


@inlined
def has_room(work: BackwardForward, search: Search, log: Log) -> int:
    """DONE if the next step finds room for what it may add."""
    if work.control[TOP] + MOST_ATOMS + 1 > len(work.stack) or work.control[
        TOP
    ] + MOST_ATOMS + STACK_DEPTH > len(search.registers):
        return GROW_STACK
    if work.control[LINKS] != 0 and log.counts[PAIRS] + MOST_ATOMS + 1 > len(log.pairs):
        return GROW_LOG
    return DONE


@compiled
def run_backward_forward(
    shared: np.ndarray, searches: np.ndarray, of_search: np.ndarray, of_work: np.ndarray
) -> int:
    """Lines 10 to 25, until nothing is left to be deleted (DONE) or something is wanted.  `searches` has the
    plans of line 11, of line 20 and of line 23."""
    facts, terms, log = facts_at(shared), terms_at(shared), log_at(shared)
    proofs, backward = plans_at(searches), plans_at(searches[PLANS:])
    affecting, indexes = plans_at(searches[2 * PLANS :]), indexes_at(shared)
    search, work = search_at(of_search), work_at(of_work)
    proofs_view = view_of(facts, indexes, proofs)
    backward_view = view_of(facts, indexes, backward)
    affecting_view = view_of(facts, indexes, affecting)
    control = work.control
    order = control[ORDER]
    billed = work.counters[DERIVATIONS]
    while True:
        control[BUDGET] -= 1 + ((work.counters[DERIVATIONS] - billed) >> INSTANCES_OF_A_STEP)
        billed = work.counters[DERIVATIONS]
        if control[BUDGET] < 0:
            return PAUSE
        reason = has_room(work, search, log)
        if reason != DONE:
            return reason
        # LAYERS: the layer first, everything that one step reaches.
        layer = order == LAYERS and control[ROOTS] == 0
        said = forward_step(facts, terms, proofs_view, proofs, search, log, work)
        if said == NOTHING and not layer:
            said = backward_step(facts, terms, backward_view, backward, search, log, work)
            if said == NOTHING and order != PAPER:
                said = disprove_step(facts, log, work)
                control[ROOTS] = 0
        if said == NOTHING and (layer or order != LAYERS):
            said = affect_step(facts, terms, affecting_view, affecting, search, log, work)
            if said == NOTHING and layer:
                control[ROOTS] = 1
                said = APPLIED
        if said == NOTHING and order == PAPER:
            said = disprove_step(facts, log, work)
        if said == NOTHING:
            return DONE
        if said != APPLIED:
            return said
