"""Sources: looking takes nothing and never waits; nothing is lost, doubled or reordered; ends are ends.

Threads meet at events, never at times: `LONG` is a bound for what is broken, not a pause.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidalog.stream import IteratorSource, ListSource, QueueSource, Source, SourceClosed, source_of, upcoming

LONG = 30.0


def filled(items: list[int]) -> QueueSource[int]:
    queue: QueueSource[int] = QueueSource(max(1, len(items)))
    for item in items:
        queue.put(item)
    queue.close()
    return queue


def read_ahead(items: list[int]) -> IteratorSource[int]:
    source = IteratorSource(iter(items), capacity=max(1, len(items)))
    source.wait(LONG, len(items) + 1)
    return source


KINDS: list[Callable[[list[int]], Source[int]]] = [ListSource, filled, read_ahead]
items_of_any_kind = pytest.mark.parametrize("make", KINDS, ids=["list", "queue", "iterator"])


def rest(source: Source[int]) -> list[int]:
    found = []
    while (item := source.next()) is not None:
        found.append(item)
    return found


def put_all(queue: QueueSource[int], items: Iterable[int]) -> None:
    for item in items:
        queue.put(item)


def endless(closed: threading.Event) -> Iterator[int]:
    try:
        while True:
            yield 1
    finally:
        closed.set()


class TestEverySource:
    @items_of_any_kind
    def test_items_come_in_order_and_then_the_end_for_ever(
        self, make: Callable[[list[int]], Source[int]]
    ) -> None:
        source = make([3, 1, 2])
        assert not source.ended
        assert rest(source) == [3, 1, 2]
        assert source.ended
        assert source.next() is None
        assert list(source.peek(5)) == []

    @items_of_any_kind
    @settings(max_examples=30, deadline=None)
    @given(
        st.lists(st.integers(), max_size=6), st.lists(st.one_of(st.none(), st.integers(-1, 8)), max_size=12)
    )
    def test_looking_shows_what_comes_next_and_takes_nothing(
        self, make: Callable[[list[int]], Source[int]], items: list[int], steps: list[int | None]
    ) -> None:
        """A step is the size of a look, or None to take an item."""
        source, left = make(items), list(items)
        for step in steps:
            if step is None:
                assert source.next() == (left.pop(0) if left else None)
            else:
                assert list(source.peek(step)) == left[: max(0, step)]
                assert list(upcoming(source, step)) == left[: max(0, step)]
            assert source.ended == (not left)

    @items_of_any_kind
    def test_an_empty_one_has_ended(self, make: Callable[[list[int]], Source[int]]) -> None:
        source = make([])
        source.wait(LONG)
        assert source.ended
        assert source.next() is None

    @items_of_any_kind
    def test_waiting_for_more_than_will_come_ends_with_the_stream(
        self, make: Callable[[list[int]], Source[int]]
    ) -> None:
        assert list(upcoming(make([1, 2]), 5, wait=LONG)) == [1, 2]


class TestQueue:
    def test_what_is_not_there_is_not_waited_for(self) -> None:
        queue: QueueSource[int] = QueueSource()
        assert list(queue.peek(3)) == []
        assert list(upcoming(queue, 3)) == []
        queue.wait(0.0)
        assert not queue.ended

    def test_looking_ahead_can_wait_for_what_arrives(self) -> None:
        queue: QueueSource[int] = QueueSource()
        with ThreadPoolExecutor(1) as other:
            ahead = other.submit(upcoming, queue, 2, LONG)
            queue.put(1)
            queue.put(2)
            assert list(ahead.result(LONG)) == [1, 2]

    def test_waiting_for_more_than_the_queue_holds_ends_when_it_is_full(self) -> None:
        queue: QueueSource[int] = QueueSource(2)
        queue.put(1)
        queue.put(2)
        assert list(upcoming(queue, 5, wait=LONG)) == [1, 2]

    def test_a_full_queue_makes_who_puts_wait(self) -> None:
        queue: QueueSource[int] = QueueSource(1)
        queue.put(1)
        with pytest.raises(TimeoutError):
            queue.put(2, timeout=0.0)
        with ThreadPoolExecutor(1) as other:
            later = other.submit(queue.put, 2, LONG)
            assert queue.next() == 1
            later.result(LONG)
        assert queue.next() == 2

    def test_next_waits_for_an_item_and_for_the_end(self) -> None:
        queue: QueueSource[int] = QueueSource()
        with ThreadPoolExecutor(1) as other:
            first = other.submit(queue.next)
            queue.put(7)
            assert first.result(LONG) == 7
            second = other.submit(queue.next)
            queue.close()
            assert second.result(LONG) is None

    def test_a_closed_queue_takes_nothing_and_gives_what_it_has(self) -> None:
        queue = filled([1, 2])
        with pytest.raises(SourceClosed):
            queue.put(3)
        assert rest(queue) == [1, 2]

    def test_closing_frees_who_waits_for_room(self) -> None:
        queue: QueueSource[int] = QueueSource(1)
        queue.put(1)
        with ThreadPoolExecutor(1) as other:
            later = other.submit(queue.put, 2)
            queue.close()
            with pytest.raises(SourceClosed):
                later.result(LONG)

    def test_none_is_no_item(self) -> None:
        queue: QueueSource[object] = QueueSource()
        with pytest.raises(TypeError):
            queue.put(None)

    def test_a_queue_holds_something(self) -> None:
        with pytest.raises(ValueError, match="at least one"):
            QueueSource(0)

    def test_of_many_threads_nothing_is_lost_or_doubled(self) -> None:
        queue: QueueSource[int] = QueueSource(3)
        with ThreadPoolExecutor(6) as others:
            takers = [others.submit(rest, queue) for _ in range(3)]
            writers = [others.submit(put_all, queue, range(k * 100, k * 100 + 100)) for k in range(3)]
            for writer in writers:
                writer.result(LONG)
            queue.close()
            found = [taker.result(LONG) for taker in takers]
        assert sorted(item for part in found for item in part) == list(range(300))
        for part in found:
            for k in range(3):
                own = [item for item in part if item // 100 == k]
                assert own == sorted(own)


class TestIterator:
    def test_a_slow_iterator_keeps_nobody_from_looking(self) -> None:
        go = threading.Event()

        def slow() -> Iterator[int]:
            yield 1
            go.wait(LONG)
            yield 2

        with IteratorSource(slow()) as source:
            source.wait(LONG)
            assert list(source.peek(5)) == [1]
            assert not source.ended
            go.set()
            assert list(upcoming(source, 2, wait=LONG)) == [1, 2]
            assert rest(source) == [1, 2]

    def test_no_more_is_read_ahead_than_fits(self) -> None:
        asked: list[int] = []

        def counted() -> Iterator[int]:
            for number in range(1000):
                asked.append(number)
                yield number

        with IteratorSource(counted(), capacity=3) as source:
            source.wait(LONG, 3)
            assert len(asked) <= 4
        assert len(asked) <= 4

    def test_an_error_comes_behind_what_came_before_it(self) -> None:
        def broken() -> Iterator[int]:
            yield 1
            raise OSError("the line is dead")

        source = IteratorSource(broken())
        source.wait(LONG, 2)
        assert list(source.peek(5)) == [1]
        assert source.next() == 1
        assert not source.ended
        for _ in range(2):
            with pytest.raises(OSError, match="the line is dead"):
                source.next()

    def test_none_in_an_iterator_is_an_error(self) -> None:
        source = IteratorSource(iter([1, None]))
        assert source.next() == 1
        with pytest.raises(TypeError):
            source.next()

    def test_closing_closes_the_generator_and_ends_the_stream(self) -> None:
        closed = threading.Event()
        source = IteratorSource(endless(closed), capacity=2)
        assert source.next() == 1
        source.close()
        assert closed.wait(LONG)
        assert source.ended
        assert source.next() is None

    def test_an_error_after_closing_is_nobody_s(self) -> None:
        go = threading.Event()

        def broken() -> Iterator[int]:
            yield 1
            go.wait(LONG)
            raise OSError("the line is dead")

        source = IteratorSource(broken())
        assert source.next() == 1
        with ThreadPoolExecutor(1) as other:
            closing = other.submit(source.close)
            assert source.next() is None
            go.set()
            closing.result(LONG)
        assert source.next() is None

    def test_a_forgotten_source_lets_its_generator_go(self) -> None:
        closed = threading.Event()
        source = IteratorSource(endless(closed), capacity=2)
        assert source.next() == 1
        del source
        gc.collect()
        assert closed.wait(LONG)


def test_a_sequence_is_all_there_and_anything_else_is_read_ahead() -> None:
    assert isinstance(source_of([1, 2]), ListSource)
    assert isinstance(source_of((1, 2)), ListSource)
    assert isinstance(source_of(iter([1, 2])), IteratorSource)
    assert rest(source_of(number for number in (1, 2))) == [1, 2]
