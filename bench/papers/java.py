"""What the recipe of the synthetic streams needs of Java: random numbers, text hashes, the order of a set.

All three are fixed by Java's documentation or, for the order of a set, by the table that every JDK since 8
uses; a stream made with them is the same stream that Java makes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

from bench.papers.java_tree import TreeBucket

T = TypeVar("T")

_MULTIPLIER = 0x5DEECE66D
_INCREMENT = 0xB
_STATE_BITS = 48
_STATE_MASK = (1 << _STATE_BITS) - 1
_INT_BITS = 31
_WORD_MASK = (1 << 32) - 1


class Random:
    """java.util.Random: a linear congruential generator of 48 bits that shows its upper ones."""

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ _MULTIPLIER) & _STATE_MASK

    def _next(self, bits: int) -> int:
        self._state = (self._state * _MULTIPLIER + _INCREMENT) & _STATE_MASK
        return self._state >> (_STATE_BITS - bits)

    def next_int(self, bound: int) -> int:
        """A number from 0 to `bound` - 1, each as likely as the others."""
        if bound <= 0:
            raise ValueError("bound must be positive")
        drawn = self._next(_INT_BITS)
        if bound & (bound - 1) == 0:
            return (bound * drawn) >> _INT_BITS
        # Draws of the last, incomplete run of `bound` numbers would favour the small ones.
        while drawn - drawn % bound + bound - 1 >= 1 << _INT_BITS:
            drawn = self._next(_INT_BITS)
        return drawn % bound

    def next_boolean(self) -> bool:
        return self._next(1) == 1


def string_hash(text: str) -> int:
    """String.hashCode as an unsigned word, for text whose characters are one code unit each."""
    value = 0
    for character in text:
        value = (31 * value + ord(character)) & _WORD_MASK
    return value


class HashSet(Generic[T]):
    """java.util.HashSet, as far as its order goes.

    Invariant: iteration goes through the buckets, and through each bucket in the order of insertion, or in
    that of `TreeBucket` once it has more than eight items; the number of buckets is a power of two that
    doubles when more than three quarters of it are filled and never shrinks.
    """

    _FIRST_CAPACITY = 16
    _LONGEST_CHAIN = 8
    _LARGEST_TREE_TO_UNDO = 6
    _LEAST_CAPACITY_FOR_TREES = 64

    def __init__(self, hash_code: Callable[[T], int]) -> None:
        self._hash_code = hash_code
        self._members: set[T] = set()
        self._buckets: list[list[T] | TreeBucket[T]] = [[] for _ in range(self._FIRST_CAPACITY)]

    def add(self, item: T) -> bool:
        """Whether the item is new."""
        if item in self._members:
            return False
        self._members.add(item)
        number = self._number(item)
        bucket = self._buckets[number]
        if isinstance(bucket, TreeBucket):
            bucket.add(item, self._spread(item))
        else:
            bucket.append(item)
            if len(bucket) > self._LONGEST_CHAIN:
                if len(self._buckets) < self._LEAST_CAPACITY_FOR_TREES:
                    self._grow()
                else:
                    self._buckets[number] = self._tree(bucket)
        if len(self._members) * 4 > len(self._buckets) * 3:
            self._grow()
        return True

    def remove(self, item: T) -> bool:
        """Whether the item was there."""
        if item not in self._members:
            return False
        self._members.remove(item)
        number = self._number(item)
        bucket = self._buckets[number]
        if not isinstance(bucket, TreeBucket):
            bucket.remove(item)
        elif bucket.remove(item):
            self._buckets[number] = _items(bucket)
        return True

    def __contains__(self, item: object) -> bool:
        return item in self._members

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[T]:
        for bucket in self._buckets:
            yield from _items(bucket)

    def _spread(self, item: T) -> int:
        """The hash as the table uses it: its upper half folded into the lower, as a signed number."""
        word = self._hash_code(item) & _WORD_MASK
        word ^= word >> 16
        return word - (word >> 31 << 32)

    def _number(self, item: T) -> int:
        return self._spread(item) & (len(self._buckets) - 1)

    def _tree(self, items: Sequence[T]) -> TreeBucket[T]:
        return TreeBucket([(item, self._spread(item)) for item in items])

    def _grow(self) -> None:
        """Twice the buckets: each goes apart into two, which keep its order."""
        old = self._buckets
        self._buckets = [[] for _ in range(2 * len(old))]
        for number, bucket in enumerate(old):
            halves: tuple[list[T], list[T]] = ([], [])
            for item in _items(bucket):
                halves[self._number(item) != number].append(item)
            for half, bucket_number in zip(halves, (number, number + len(old)), strict=True):
                if isinstance(bucket, TreeBucket) and len(half) > self._LARGEST_TREE_TO_UNDO:
                    self._buckets[bucket_number] = self._tree(half) if all(halves) else bucket
                else:
                    self._buckets[bucket_number] = half


def _items(bucket: list[T] | TreeBucket[T]) -> list[T]:
    return [node.item for node in bucket.row] if isinstance(bucket, TreeBucket) else bucket
