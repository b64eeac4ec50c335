"""Backward/Forward with marking over a stream of updates: Algorithm 1 of paper 001, blocks a to g.

Lines are those of the paper, sets are C (completely checked), D (deleted), V (proven), W (waiting, last in
first out) and Y (delayed: proven but not checked).  Each call of a block method applies at most one rule, and
the loop tries the blocks in the order of the letters, as the paper does.  D is processed first in first out.

Which facts are marked (`marks`):

*  `none`: classical B/F.
*  `paper`: line 9 marks the explicit facts that the next update deletes; lines 12 and 29 mark the head of a
   rule applied now whose body holds one of them.  A marked implicit fact marks nothing.
*  `linked`: an implicit fact keeps links to the explicit facts in the body of the instance that produced it
   (line 28) or last proved it (line 11), and is marked if the next update deletes one of them, however long
   ago that was.

What differs from the paper's text, which lets updates touch only predicates that no rule derives:

*  Explicit and implicit are properties of facts.  Block c also moves to W a fact of E1⁻ that some instance in
   I still derives, as if a rule `p(x) :- explicit_p(x)` stood in the program; only facts of E1⁻ without any
   instance start in D.  So a fact that stops being explicit and has another proof stays, now implicit.
*  Explicit is what E1 = (E ∖ E1⁻) ∪ E1⁺ holds, from the start of the update: line 18 takes a fact of E1⁺ that
   is already derived as proven.
*  Marks are seeds of W in the next update and no more than that; D comes from the update itself.  If another
   update than the announced one follows, facts are checked in vain and the result is right.

Counters: `deletions` are applications of line 23, `backward` of line 20, `forward` of line 11, `insertions`
of line 28; `marks_explicit` and `marks_implicit` are the facts that carry a mark when the update ends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Literal

from tidalog.model.program import Program
from tidalog.reference.fact_sets import Difference, Fact, FactSet
from tidalog.reference.instances import Instance
from tidalog.reference.maintenance import Maintenance, NetUpdate, Trace, Update, net_update

Marks = Literal["none", "paper", "linked"]


class BackwardForwardMarking(Maintenance):
    COUNTERS: ClassVar[tuple[str, ...]] = (
        "deletions",
        "backward",
        "forward",
        "insertions",
        "marks_explicit",
        "marks_implicit",
    )

    def __init__(
        self,
        program: Program,
        facts: Iterable[Fact] = (),
        *,
        marks: Marks = "paper",
        first_update_alone: bool = True,
        trace: Trace | None = None,
    ) -> None:
        """`first_update_alone`: the first update is finished before anything else is read, as in the paper's
        evaluation."""
        self.marks = marks
        self.look_ahead = marks != "none" and not first_update_alone
        self.marked_explicit: set[Fact] = set()
        self.marked_implicit: dict[Fact, None] = {}
        self.links: dict[Fact, tuple[Fact, ...]] = {}
        super().__init__(program, facts, trace=trace)
        if marks == "linked":
            self._link_the_start()

    def _link_the_start(self) -> None:
        """Materialises once more, to see which instance produced each fact."""
        given = [fact for fact in self.facts if self.is_given(fact)]
        self.facts = FactSet()
        self._insert(given, self._link)

    # --- the loop of lines 3 to 34, for one update ----------------------------------------------------

    def _maintain(self, update: NetUpdate, upcoming: Sequence[Update]) -> None:
        self._start(update)
        self._mark_explicit(upcoming)
        while self._forward() or self._backward() or self._affect() or self._disprove():
            pass
        self._finish_deletions(update.insertions)
        self._insert(update.insertions, self._inserted)
        self._prepare_next()

    def _start(self, update: NetUpdate) -> None:
        """Lines 2, 6 and 32."""
        self.explicit.difference_update(update.deletions)
        self.explicit.update(update.insertions)
        self.C: dict[Fact, None] = {}
        self.V = FactSet()
        self.W: dict[Fact, None] = self.marked_implicit
        self.Y: dict[Fact, None] = {}
        still_derived = [F for F in update.deletions if any(self.program.deriving(self.facts, F))]
        self.D: dict[Fact, None] = {F: None for F in update.deletions if F not in still_derived}
        self._searches: dict[Fact, Iterator[Instance]] = {}
        self._proven_to_match: deque[Fact] = deque()
        self._proofs: deque[Instance] = deque()
        self._deleted_to_match: deque[Fact] = deque(self.D)
        self._affected: deque[Fact] = deque(still_derived)

    def _mark_explicit(self, upcoming: Sequence[Update]) -> None:
        """Line 9: explicit facts that the next update deletes."""
        self.marked_implicit = {}
        self.marked_explicit = set()
        if self.look_ahead and upcoming:
            self.marked_explicit.update(net_update(upcoming[0], self.explicit).deletions)
        self.look_ahead = self.marks != "none"

    # --- deletions ------------------------------------------------------------------------------------

    def _forward(self) -> bool:
        """Block a, lines 11 to 16.  An instance is met when the last of its body facts, in the order in which
        they were proven, is matched; one whose head is in V ∪ Y then never becomes applicable again."""
        while True:
            while self._proofs:
                instance = self._proofs.popleft()
                if instance.head not in self.V and instance.head not in self.Y:
                    self.counters["forward"] += 1
                    self._apply_proof(instance)
                    self._record_sets("a")
                    return True
            if not self._proven_to_match:
                return False
            F = self._proven_to_match.popleft()
            matched = Difference(self.V, set(self._proven_to_match))
            self._proofs.extend(self.program.using(matched, F))

    def _apply_proof(self, instance: Instance) -> None:
        self._link(instance)  # line 12
        head = instance.head
        if head in self.W:  # lines 13 and 14
            self._prove(head)
            self.C[head] = None
            del self.W[head]
        elif head in self.C:  # line 15
            self._prove(head)
        else:
            self.Y[head] = None  # line 16

    def _prove(self, F: Fact) -> None:
        if self.V.add(F):
            self._proven_to_match.append(F)

    def _backward(self) -> bool:
        """Block b, lines 17 to 22."""
        if not self.W:
            return False
        F = next(reversed(self.W))  # line 17
        if self.is_given(F) or F in self.Y:  # line 18
            self._prove(F)  # line 19
            self.C[F] = None
            del self.W[F]
        elif (body := self._unchecked_body(F)) is not None:  # line 20
            self.counters["backward"] += 1
            self.W.update(dict.fromkeys(body))  # line 21
        else:
            self.C[F] = None  # line 22
            del self.W[F]
        self._record_sets("b")
        return True

    def _unchecked_body(self, F: Fact) -> list[Fact] | None:
        """body(r) ∖ (W ∪ C) for the first r with head F, no body fact in D, and a body not all in W ∪ C.

        D and W ∪ C only grow before line 26, so an instance passed over once can be passed over for good, and
        the search goes on where it stopped when F was the last of W before.
        """
        if F not in self._searches:
            self._searches[F] = self.program.deriving(Difference(self.facts, self.D), F)
        for instance in self._searches[F]:
            body = [G for G in instance.body if G not in self.W and G not in self.C]
            if body:
                return body
        return None

    def _affect(self) -> bool:
        """Block c, lines 23 and 24."""
        while True:
            while self._affected:
                head = self._affected.popleft()
                if head not in self.W and head not in self.C:
                    self.counters["deletions"] += 1
                    self.W[head] = None
                    self._record_sets("c")
                    return True
            if not self._deleted_to_match:
                return False
            F = self._deleted_to_match.popleft()
            self._affected.extend(instance.head for instance in self.program.using(self.facts, F))

    def _disprove(self) -> bool:
        """Block d, line 25."""
        unproven = [F for F in self.C if F not in self.V and F not in self.D]
        self.D.update(dict.fromkeys(unproven))
        self._deleted_to_match.extend(unproven)
        if unproven:
            self._record_sets("d")
        return bool(unproven)

    def _finish_deletions(self, insertions: Sequence[Fact]) -> None:
        """Block e, line 26; E1⁺ itself is added with its consequences."""
        for F in self.D:
            self.facts.discard(F)
            self.links.pop(F, None)
        self._record("e", {"I": {*self.facts, *insertions}, "D": self.D})

    # --- insertions -----------------------------------------------------------------------------------

    def _inserted(self, instance: Instance) -> None:
        """Block f, lines 28 to 30, for an instance that has just added its head."""
        self.counters["insertions"] += 1
        self._link(instance)
        self._record_sets("f")

    def _link(self, instance: Instance) -> None:
        """Lines 12 and 29: the head is marked by the explicit facts of the body."""
        explicit = tuple(F for F in instance.body if F in self.explicit)
        if self.marks == "linked":
            self.links[instance.head] = explicit
        elif not self.marked_explicit.isdisjoint(explicit):
            self.marked_implicit[instance.head] = None

    def _prepare_next(self) -> None:
        """Block g, line 32: the marked facts that no longer count as explicit wait in the next W."""
        if self.marks == "linked":
            marked = [F for F, links in self.links.items() if not self.marked_explicit.isdisjoint(links)]
        else:
            marked = list(self.marked_implicit)
        self.marked_implicit = {F: None for F in marked if F in self.facts and not self.is_given(F)}
        self.counters["marks_explicit"] = len(self.marked_explicit)
        self.counters["marks_implicit"] = len(self.marked_implicit)
        self._record("g", {"I": self.facts, "D": self.marked_explicit, "W": self.marked_implicit})

    def _record_sets(self, block: str) -> None:
        if self.trace is not None:
            marked = {*self.marked_explicit, *self.marked_implicit}
            sets: dict[str, Iterable[Fact]] = {
                "I": self.facts,
                "C": self.C,
                "D": self.D,
                "V": self.V,
                "W": self.W,
                "Y": self.Y,
            }
            self._record(block, {**sets, "marked": marked})
