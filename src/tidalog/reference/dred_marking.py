"""Delete/Rederive with marking: DRed over a stream of updates, with a look at the next one.

    D := D0 ∪ E⁻;  cur := I ∖ D                        D0, carry: left by the update before
    NEG := explicit facts that the next update (F⁻, F⁺) deletes
    POS := facts of E⁻ that the next update inserts again
    overdelete: instance with body ⊆ cur ∪ D, body ∩ D ≠ ∅, head ∈ cur and not explicit:
        head moves from cur to D
        head ∈ POS if every body fact in D is in POS, and every one in cur is explicit and not in NEG
    rederive: head ∈ D with body ⊆ cur: back to cur, loses POS; NEG if any body fact is in NEG and head ∉ F⁺
    apply: carry' := D ∩ POS; I := cur; insert E⁺ ∪ carry
    insert semi-naively; head NEG if any body fact is in NEG and head ∉ F⁺
    next: D0 := NEG; carry := implicit part of carry'

Why the shortcuts are right.  A fact of D0 has an instance in I with a fact of F⁻ or of D0 in its body, so the
next overdeletion would take it anyway: D is the same set with marks and without, and only the search for
those facts is saved.  A fact of POS has a derivation whose leaves are facts of F⁺ and explicit facts that the
next update leaves alone, for heads enter POS after their bodies: it is true once the next update is done.

What the outline must say for facts that are explicit and derivable at once:

*  An explicit fact that no update deletes stays in cur although an instance loses its body, for nothing would
   bring it back.  Explicit means explicit after this update, so a derived fact of E⁺ stays as well.
*  A fact of F⁺ gets no negative mark.  It would pass the mark on to heads that lose nothing by the next
   update, and these would be overdeleted and rederived in vain.

D0 and carry hold for the announced update only; if another one comes, both are dropped.

Counters: `deletions`, `rederivations` and `insertions` are heads that a rule moved; `marks_explicit` and
`marks_implicit` are NEG when the update ends, `marks_positive` is carry'.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from tidalog.model.program import Program
from tidalog.reference.fact_sets import Difference, Fact
from tidalog.reference.instances import Instance
from tidalog.reference.maintenance import Maintenance, NetUpdate, Trace, Update, net_update

NOTHING = NetUpdate((), ())


class DRedMarking(Maintenance):
    COUNTERS = (
        "deletions",
        "rederivations",
        "insertions",
        "marks_explicit",
        "marks_implicit",
        "marks_positive",
    )

    def __init__(
        self,
        program: Program,
        facts: Iterable[Fact] = (),
        *,
        first_update_alone: bool = True,
        trace: Trace | None = None,
    ) -> None:
        """`first_update_alone`: the first update is finished before anything else is read."""
        self.look_ahead = not first_update_alone
        self.announced: NetUpdate = NOTHING
        self.D0: dict[Fact, None] = {}
        self.carry: tuple[Fact, ...] = ()
        super().__init__(program, facts, trace=trace)

    def _maintain(self, update: NetUpdate, upcoming: Sequence[Update]) -> None:
        as_announced = _same(update, self.announced)
        D0, carry = (self.D0, self.carry) if as_announced else ({}, ())
        self.explicit.difference_update(update.deletions)
        self.explicit.update(update.insertions)
        self.announced = NOTHING
        if self.look_ahead and upcoming:
            self.announced = net_update(upcoming[0], self.explicit)
        self.look_ahead = True
        self.NEG: dict[Fact, None] = dict.fromkeys(self.announced.deletions)
        self.next_explicit = set(self.announced.insertions)
        self.POS: dict[Fact, None] = {F: None for F in update.deletions if F in self.next_explicit}
        self.D: dict[Fact, None] = {F: None for F in (*update.deletions, *D0) if not self.is_given(F)}
        self.cur = Difference(self.facts, self.D)
        self._overdelete()
        self._rederive()
        carried = tuple(F for F in self.D if F in self.POS)
        for F in self.D:
            self.facts.discard(F)
        self._record("apply", {"I": self.facts, "carry": carried})
        self._insert((*update.insertions, *carry), self._inserted)
        self._prepare_next(carried)

    def _overdelete(self) -> None:
        """Each instance is met when the first of its facts in D is processed."""
        waiting = deque(self.D)
        processed: set[Fact] = set()
        unprocessed = Difference(self.facts, processed)
        while waiting:
            F = waiting.popleft()
            for instance in self.program.using(unprocessed, F):
                head = instance.head
                if head in self.cur and not self.is_given(head):
                    self.counters["deletions"] += 1
                    if all(map(self._holds_after_next, instance.body)):
                        self.POS[head] = None
                    self.D[head] = None
                    waiting.append(head)
            processed.add(F)
        self._record("overdelete", {"D": self.D, "POS": self.POS, "NEG": self.NEG})

    def _holds_after_next(self, F: Fact) -> bool:
        """Whether F is sure to be true once the next update is done."""
        return F in self.POS if F in self.D else self.is_given(F) and F not in self.NEG

    def _rederive(self) -> None:
        waiting: deque[Fact] = deque()
        for F in tuple(self.D):
            instance = next(self.program.deriving(self.cur, F), None)
            if instance is not None:
                self._rederived(instance)
                waiting.append(F)
        while waiting:
            for instance in self.program.using(self.cur, waiting.popleft()):
                if instance.head in self.D:
                    self._rederived(instance)
                    waiting.append(instance.head)
        self._record("rederive", {"D": self.D, "POS": self.POS, "NEG": self.NEG})

    def _rederived(self, instance: Instance) -> None:
        self.counters["rederivations"] += 1
        del self.D[instance.head]
        self.POS.pop(instance.head, None)
        self._pass_on(instance)

    def _inserted(self, instance: Instance) -> None:
        self.counters["insertions"] += 1
        self._pass_on(instance)

    def _pass_on(self, instance: Instance) -> None:
        """A negative mark goes from any fact of the body to the head, unless the next update makes the head
        explicit."""
        if instance.head not in self.next_explicit and any(F in self.NEG for F in instance.body):
            self.NEG[instance.head] = None

    def _prepare_next(self, carried: tuple[Fact, ...]) -> None:
        self.D0 = self.NEG
        self.carry = tuple(F for F in carried if F not in self.next_explicit)
        self.counters["marks_explicit"] = len(self.announced.deletions)
        self.counters["marks_implicit"] = len(self.NEG) - len(self.announced.deletions)
        self.counters["marks_positive"] = len(carried)
        self._record("next", {"I": self.facts, "D0": self.D0, "carry": self.carry})


def _same(left: NetUpdate, right: NetUpdate) -> bool:
    return set(left.deletions) == set(right.deletions) and set(left.insertions) == set(right.insertions)
