"""A crowded bucket of a Java HashSet: a red-black tree over hashes that also keeps its items in a row.

Iteration follows the row, and the row depends on the tree: an item is inserted after its parent, and the root
is always first.  So the order requires the same tree as Java's; two of the 48 synthetic streams depend on it.

Invariants: a red node has no red child; every path down from the root has the same number of black nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

T = TypeVar("T")

LEFT, RIGHT = 0, 1


class Node(Generic[T]):
    __slots__ = ("children", "hash", "item", "parent", "red")

    def __init__(self, item: T, hash_code: int) -> None:
        self.item = item
        self.hash = hash_code
        self.parent: Node[T] | None = None
        self.children: list[Node[T] | None] = [None, None]
        self.red = False

    @property
    def side(self) -> int:
        """On which side of its parent it hangs."""
        assert self.parent is not None
        return LEFT if self.parent.children[LEFT] is self else RIGHT


class TreeBucket(Generic[T]):
    """Items with their hashes, signed and all different: for equal ones Java compares addresses."""

    def __init__(self, items: Sequence[tuple[T, int]]) -> None:
        self._root: Node[T] | None = None
        self.row: list[Node[T]] = []
        for item, hash_code in items:
            node = Node(item, hash_code)
            self._hang(node)
            self.row.append(node)
        self._root_to_front()

    def add(self, item: T, hash_code: int) -> None:
        node = Node(item, hash_code)
        parent = self._hang(node)
        assert parent is not None
        self.row.insert(self.row.index(parent) + 1, node)
        self._root_to_front()

    def remove(self, item: T) -> bool:
        """Whether the bucket, judged by its tree from before, is now too small to be one."""
        node = next(node for node in self.row if node.item == item)
        self.row.remove(node)
        if self._is_small():
            return True
        self._cut(node)
        self._root_to_front()
        return False

    def _root_to_front(self) -> None:
        if self._root is not None:
            self.row.remove(self._root)
            self.row.insert(0, self._root)

    def _is_small(self) -> bool:
        if self._root is None:
            return True
        left, right = self._root.children
        return right is None or left is None or left.children[LEFT] is None

    def _hang(self, node: Node[T]) -> Node[T] | None:
        """Put a node below the one it belongs to, which is returned, and balance."""
        parent, below = None, self._root
        while below is not None:
            if below.hash == node.hash:
                raise NotImplementedError("two items of a crowded bucket have the same hash")
            parent, below = below, below.children[LEFT if node.hash < below.hash else RIGHT]
        node.parent = parent
        if parent is None:
            self._root = node
        else:
            parent.children[LEFT if node.hash < parent.hash else RIGHT] = node
            node.red = True
            self._balance_after_hanging(node)
        return parent

    def _balance_after_hanging(self, node: Node[T]) -> None:
        while (parent := node.parent) is not None and parent.red and parent.parent is not None:
            grandparent, side = parent.parent, parent.side
            uncle = grandparent.children[1 - side]
            if _is_red(uncle):
                assert uncle is not None
                parent.red = uncle.red = False
                grandparent.red = True
                node = grandparent
                continue
            if node.side != side:
                self._rotate(parent, side)
                parent = node
            parent.red = False
            grandparent.red = True
            self._rotate(grandparent, 1 - side)
            break
        assert self._root is not None
        self._root.red = False

    def _cut(self, node: Node[T]) -> None:
        """Remove a node; one with two children first swaps position and colour with the next larger."""
        left, right = node.children
        if left is not None and right is not None:
            larger = right
            while (smaller := larger.children[LEFT]) is not None:
                larger = smaller
            self._change_places(node, larger)
        child = node.children[LEFT] or node.children[RIGHT]
        if child is not None:
            self._replace(node, child)
            if child.parent is None:
                child.red = False
            if not node.red:
                self._balance_after_cutting(child)
            return
        if not node.red:
            self._balance_after_cutting(node)
        self._replace(node, None)

    def _balance_after_cutting(self, node: Node[T]) -> None:
        """Every way through `node` lacks one black node."""
        while (parent := node.parent) is not None and not node.red:
            side = node.side
            sibling = parent.children[1 - side]
            if _is_red(sibling):
                assert sibling is not None
                sibling.red, parent.red = False, True
                self._rotate(parent, side)
                sibling = parent.children[1 - side]
            if sibling is None:
                node = parent
                continue
            near, far = sibling.children[side], sibling.children[1 - side]
            if not _is_red(near) and not _is_red(far):
                sibling.red = True
                node = parent
                continue
            if not _is_red(far):
                assert near is not None
                near.red, sibling.red = False, True
                self._rotate(sibling, 1 - side)
                sibling, far = near, sibling
            assert far is not None
            sibling.red, parent.red, far.red = parent.red, False, False
            self._rotate(parent, side)
            return
        node.red = False

    def _rotate(self, node: Node[T], side: int) -> None:
        """Rotate a node towards `side`; its child on the other side replaces it."""
        riser = node.children[1 - side]
        assert riser is not None
        inner = riser.children[side]
        self._replace(node, riser)
        riser.children[side], node.parent = node, riser
        node.children[1 - side] = inner
        if inner is not None:
            inner.parent = node

    def _replace(self, node: Node[T], other: Node[T] | None) -> None:
        """Replace a node by another child of its parent."""
        if node.parent is None:
            self._root = other
        else:
            node.parent.children[node.side] = other
        if other is not None:
            other.parent = node.parent

    def _change_places(self, node: Node[T], larger: Node[T]) -> None:
        node.red, larger.red = larger.red, node.red
        right, (_, below) = node.children[RIGHT], larger.children
        parent = larger.parent
        larger.children[LEFT] = node.children[LEFT]
        self._replace(node, larger)
        if parent is node:
            larger.children[RIGHT], node.parent = node, larger
        else:
            assert parent is not None
            larger.children[RIGHT], parent.children[LEFT], node.parent = right, node, parent
        node.children = [None, below]
        for above in (larger, node):
            for child in above.children:
                if child is not None:
                    child.parent = above


def _is_red(node: Node[T] | None) -> bool:
    return node is not None and node.red
