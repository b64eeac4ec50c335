"""What compiled code does with expiries: see `expiries`, which has the invariants."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from tidalog.engine.array_types import Int32s, Int32Table, Int64s, Uint8s, int64
from tidalog.engine.bits import DELETED, NEW, PRESENT
from tidalog.engine.fact_kernels import FACTS, Facts
from tidalog.engine.jit import entry, inlined
from tidalog.engine.probe import find_rows
from tidalog.engine.undo_log import Log, set_bits

# Columns of `life`.
SLOT: Final = 0  # of the fact's expiry
RANK: Final = 1  # a new one at every change of its expiry
LINK: Final = 2  # the next fact of its list: UNLISTED, LAST or the fact + FIRST_LINK
GIVEN: Final = 3  # 1 + the slot of its expiry as an explicit fact, or 0
LIFE: Final = 4

UNLISTED: Final = 0
LAST: Final = 1
FIRST_LINK: Final = 2

# Columns of `slots`.
HEAD: Final = 0  # the list of facts that were given this expiry: a link
LATER: Final = 1  # 1 + the first of its entries in `side`
STAMP: Final = 2  # the last rank given out
WAIT: Final = 3  # 1 + the first of the facts that wait to be processed
QUEUED: Final = 4  # whether the slot is in the queue of slots
SLOT_FIELDS: Final = 5
SIDE_FIELDS: Final = 2  # a fact and 1 + the next entry of the slot

# Slots that are always there.
NEVER: Final = 0  # the fact never expires; also that of all facts that nothing is known of
GONE: Final = 1  # before any time

# state[…]
NOW: Final = 0
BEGIN: Final = 1  # facts below this id are older than the update
LOGGED: Final = 2  # entries of `log`
SIDE: Final = 3  # entries of `side`
STATE: Final = 4


class Expiries(NamedTuple):
    """The arrays that compiled code sees.  Python replaces them when they grow, between calls."""

    life: Int32Table  # [fact, SLOT …]
    when: Int64s  # [slot]: the time
    slots: Int32Table  # [slot, HEAD …]
    log: Int32Table  # fact, SLOT, RANK, GIVEN as they were
    side: Int32Table  # [entry]: a fact and 1 + the next entry of the slot
    state: Int64s


# --- compiled ---------------------------------------------------------------------------------------


@inlined
def expiry_of(expiries: Expiries, fact: int) -> int:
    return int64(expiries.when[expiries.life[fact, SLOT]])


@inlined
def note_life(expiries: Expiries, fact: int) -> None:
    """A fact is about to change; there is capacity.  Facts of this update need no note."""
    if fact < expiries.state[BEGIN]:
        at, life, log = expiries.state[LOGGED], expiries.life, expiries.log
        log[at, 0], log[at, 1] = fact, life[fact, SLOT]
        log[at, 2], log[at, 3] = life[fact, RANK], life[fact, GIVEN]
        expiries.state[LOGGED] = at + 1


@inlined
def put_slot(expiries: Expiries, fact: int, slot: int) -> None:
    """Gives a fact an expiry and a new rank."""
    note_life(expiries, fact)
    stamp = expiries.slots[slot, STAMP] + 1
    expiries.slots[slot, STAMP] = stamp
    expiries.life[fact, SLOT], expiries.life[fact, RANK] = slot, stamp


@inlined
def list_fact(expiries: Expiries, fact: int) -> None:
    """Adds a fact to the list of its expiry.  One that is in a list already may be in that of a later time:
    then it is noted beside."""
    life, slots = expiries.life, expiries.slots
    slot = life[fact, SLOT]
    if slot > GONE:
        if life[fact, LINK] == UNLISTED:
            life[fact, LINK] = max(LAST, slots[slot, HEAD])
            slots[slot, HEAD] = fact + FIRST_LINK
        else:
            at = expiries.state[SIDE]
            expiries.side[at, 0], expiries.side[at, 1] = fact, slots[slot, LATER]
            expiries.state[SIDE] = at + 1
            slots[slot, LATER] = at + 1


@entry
def take_due(facts: Facts, expiries: Expiries, slot: int, out: Int32s) -> int:
    """Empties the lists of a slot whose time has come.  `out` gets the facts that expire with it, as many as
    it has capacity for; the others are listed under their later expiries."""
    life, slots, now = expiries.life, expiries.slots, expiries.state[NOW]
    count = 0
    while count < len(out):
        if slots[slot, HEAD] > LAST:
            fact = int64(slots[slot, HEAD] - FIRST_LINK)
            slots[slot, HEAD] = life[fact, LINK]
            life[fact, LINK] = UNLISTED
        elif slots[slot, LATER] > 0:
            at = int64(slots[slot, LATER] - 1)
            fact = int64(expiries.side[at, 0])
            slots[slot, LATER] = expiries.side[at, 1]
        else:
            break
        if facts.status[fact] & PRESENT:
            if expiry_of(expiries, fact) <= now:
                out[count] = fact
                count += 1
            else:
                list_fact(expiries, fact)
    return count


@entry
def list_again(facts: Facts, expiries: Expiries, listed: Uint8s) -> None:
    """Lists every fact of the listed predicates under its expiry."""
    life, slots = expiries.life, expiries.slots
    for slot in range(len(slots)):
        slots[slot, HEAD] = slots[slot, LATER] = 0
    expiries.state[SIDE] = 0
    for fact in range(facts.state[FACTS]):
        if life[fact, LINK] != UNLISTED:
            life[fact, LINK] = UNLISTED
        if life[fact, SLOT] > GONE and facts.status[fact] & PRESENT:  # noqa: SIM102
            if listed[facts.arguments[int64(facts.offset[fact]) - 1]]:
                list_fact(expiries, fact)


@entry
def undo_lives(expiries: Expiries, facts: int) -> None:
    """Every fact has the expiry that it had when the update began; there are `facts` ids."""
    life, log, state = expiries.life, expiries.log, expiries.state
    for i in range(state[LOGGED] - 1, -1, -1):
        fact = log[i, 0]
        life[fact, SLOT], life[fact, RANK], life[fact, GIVEN] = log[i, 1], log[i, 2], log[i, 3]
    state[LOGGED] = 0
    life[state[BEGIN] : facts] = 0
    for slot in range(len(expiries.slots)):
        expiries.slots[slot, WAIT] = expiries.slots[slot, QUEUED] = 0


@entry
def renumber_lives(facts: Facts, expiries: Expiries, ranks: Int32s) -> None:
    """Facts are about to get the ids that `ranks` says."""
    life = expiries.life
    count = 0
    for fact in range(facts.state[FACTS]):
        if facts.status[fact] & PRESENT:
            n = ranks[fact]
            for column in range(LIFE):
                life[n, column] = life[fact, column]
            count += 1
    life[count : facts.state[FACTS]] = 0


@entry
def give(
    facts: Facts,
    expiries: Expiries,
    predicate: int,
    rows: Int32Table,
    slots: Int32s,
    derived: bool,
    out: Int32Table,
) -> int:
    """Explicit facts, as rows, have these expiries; GONE: they are explicit no longer.  `out` gets those that
    change, and the slots that they had: of facts that rules derive too those as explicit facts.  There is
    capacity."""
    life, now, count = expiries.life, expiries.state[NOW], rows.shape[1]
    ids = np.empty(count, np.int32)
    find_rows(facts, predicate, rows, count, ids)
    changed = 0
    for i in range(count):
        fact, slot = int64(ids[i]), slots[i]
        if fact < 0:
            continue
        if derived:
            given = slot + 1 if slot != GONE else 0
            before = life[fact, GIVEN]
            if given != before:
                note_life(expiries, fact)
                life[fact, GIVEN] = given
                out[changed, 0], out[changed, 1] = fact, before
                changed += 1
            continue
        before = life[fact, SLOT] if not facts.status[fact] & NEW else GONE
        if slot == GONE and expiries.when[before] <= now:
            continue  # it expires
        if before != slot or facts.status[fact] & NEW:
            note_life(expiries, fact)
            life[fact, SLOT] = slot
            out[changed, 0], out[changed, 1] = fact, before
            changed += 1
    return changed


@entry
def load_lives(
    facts: Facts, expiries: Expiries, predicate: int, rows: Int32Table, slots: Int32s, derived: bool
) -> None:
    """The same for facts of which nothing is known yet."""
    count = rows.shape[1]
    ids = np.empty(count, np.int32)
    find_rows(facts, predicate, rows, count, ids)
    for i in range(count):
        if ids[i] >= 0:
            fact = int64(ids[i])
            note_life(expiries, fact)
            if derived:
                expiries.life[fact, GIVEN] = slots[i] + 1
            else:
                expiries.life[fact, SLOT] = slots[i]


@entry
def give_ids(expiries: Expiries, ids: Int32s, given: int, out: Int32Table) -> int:
    """`give` for facts of one expiry that rules derive too, by their ids.  `given`: 0 or 1 + a slot."""
    changed = 0
    for i in range(len(ids)):
        fact = int64(ids[i])
        if fact >= 0 and expiries.life[fact, GIVEN] != given:
            note_life(expiries, fact)
            out[changed, 0], out[changed, 1] = fact, expiries.life[fact, GIVEN]
            expiries.life[fact, GIVEN] = given
            changed += 1
    return changed


@entry
def end_lives(expiries: Expiries, begin: int, end: int) -> None:
    """Facts in [begin, end), which are new and implicit, have no expiry yet."""
    life = expiries.life
    for fact in range(begin, end):
        life[fact, SLOT] = GONE


@entry
def forget_lives(expiries: Expiries, ids: Int32s) -> None:
    """Nothing is known of these facts any more.  They stay in their lists, and are passed over there."""
    for i in range(len(ids)):
        fact = int64(ids[i])
        note_life(expiries, fact)
        expiries.life[fact, SLOT] = expiries.life[fact, RANK] = expiries.life[fact, GIVEN] = 0


@entry
def drop_due(facts: Facts, log: Log, expiries: Expiries, ids: Int32s, bits: int, out: Int32s) -> int:
    """Deletes facts that have expired, and lists the others; `bits` of all are cleared.  How many are
    deleted, which `out` gets."""
    now, count = expiries.state[NOW], 0
    for i in range(len(ids)):
        fact = int64(ids[i])
        facts.status[fact] &= ~np.uint16(bits)
        if (facts.status[fact] & (PRESENT | DELETED)) != PRESENT:
            continue
        if expiry_of(expiries, fact) <= now:
            set_bits(facts, log, fact, DELETED)
            out[count] = fact
            count += 1
        else:
            list_fact(expiries, fact)
    return count


@entry
def times_of(expiries: Expiries, ids: Int32s, out: Int64s) -> None:
    """When facts expire."""
    for i in range(len(ids)):
        out[i] = expiry_of(expiries, int64(ids[i]))
