"""What an update does about the times at which facts expire, and which components it reaches by that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.expiries import ExpiryStore
from tidalog.maintain.component import MaintainedComponent
from tidalog.maintain.worklist import ComponentIndex
from tidalog.model.update import EncodedUpdate


class Expiring:
    """The expiries of one engine, over the components of an index."""

    def __init__(self, engine: EmbeddedEngine, index: ComponentIndex) -> None:
        self._engine, self._index = engine, index
        engine.expiries = ExpiryStore()

    def begin(self, update: EncodedUpdate) -> None:
        """Finds what is due."""
        self._engine.expiries.begin(self._engine, update.lifetimes, self._index.holder.keys())

    def forget(self, predicates: Iterable[int]) -> None:
        """No rule derives these any more; and windows may have come or gone."""
        self._engine.expiries.forget(self._engine, predicates)
        self._engine.expiries.restart(self._engine)

    def change_explicit(self) -> None:
        """The facts of predicates that no rule derives get their expiries."""
        self._engine.expiries.give_all(self._engine)

    def finish(self) -> None:
        self._engine.expiries.finish()

    # --- who is concerned ---------------------------------------------------------------------------

    def first_reached(self) -> Iterator[MaintainedComponent]:
        """The components that an update reaches before any is maintained."""
        engine, expiries, holder = self._engine, self._engine.expiries, self._index.holder
        if expiries.lifetimes is not None and expiries.lifetimes.wanted:
            for predicate in map(engine.predicate, filter(engine.has, expiries.lifetimes.predicates)):
                yield from self._index.readers(predicate)
                if predicate in holder:
                    yield holder[predicate]
        if expiries.lifetimes is not None:
            bounded = self._index.bounded
            if not all(one.expires_with == basis_of(one) for one in bounded):
                yield from (*self._index.held, *bounded)
        if expiries.timed:
            for predicate in expiries.changes:
                yield from self.readers(predicate)
            for predicate in {*expiries.due, *expiries.named(engine)}:
                if predicate in holder and self.concerns(holder[predicate]):
                    yield holder[predicate]

    def readers(self, predicate: int) -> Iterable[MaintainedComponent]:
        """Components that must know that facts of a predicate may expire at other times than before."""
        expiries, readers = self._engine.expiries, self._index.readers(predicate)
        if expiries.lifetimes is not None and expiries.lifetimes.wanted:
            return readers
        return filter(self.concerns, readers) if predicate in expiries.changes else ()

    def concerns(self, component: MaintainedComponent) -> bool:
        """Whether a component has expiries, or needs them."""
        return component.expires_with is not None or component.is_held or component.traits.bounded


def basis_of(component: MaintainedComponent) -> tuple[int, frozenset[int]]:
    """What the expiries of a component rest on: see `expires_with`."""
    expiries = component.engine.expiries
    return expiries.version, frozenset(expiries.timed.intersection(component.lower))


def drop_expiries(component: MaintainedComponent) -> None:
    """A component is about to be maintained without expiries."""
    component.expires_with = None
    expiries = component.engine.expiries
    if expiries.timed:
        expiries.forget(component.engine, component.numbers)
