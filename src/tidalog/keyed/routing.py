"""The rows of a batch as updates: facts with their keys, by relation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from tidalog.api.encoded_update import grouped_facts
from tidalog.engine.dictionary import Dictionary
from tidalog.io.update_tables import update_table_of
from tidalog.keyed.batches import SubBatches
from tidalog.keyed.config import BucketConfig
from tidalog.keyed.declared_rows import facts_in
from tidalog.model.facts import Facts, Ids
from tidalog.model.update import EncodedUpdate
from tidalog.rdf.columns import split


def sub_batches(
    table: pa.Table, keys: Ids, order: SubBatches, config: BucketConfig, dictionary: Dictionary
) -> Iterator[EncodedUpdate]:
    """The updates of each sub-batch as one."""
    facts = update_table_of(facts_in(table), config.declarations)
    encode = dictionary.encode
    columns = [keys, *(encode(column.array, column.reading) for column in facts.arguments)]
    prefixes = config.prefixes
    for parts in grouped_facts(facts, order.count, order.sub_batch, order.rows, columns, prefixes):
        deletions, insertions = (
            [one for whole in part for one in _routed(whole, config, dictionary)] for part in parts
        )
        yield EncodedUpdate(deletions, insertions)


def _routed(facts: Facts, config: BucketConfig, dictionary: Dictionary) -> Iterator[Facts]:
    """Facts with keys by relation.  While triples are routed, the number of the row replaces the subject, so
    that the key of each is found again."""
    keys, *arguments = facts.columns
    if not config.layout.active or not arguments:
        yield Facts(config.names.get(facts.predicate, facts.predicate), facts.columns, facts.count)
        return
    numbers = np.arange(facts.count, dtype=np.int32)
    numbered = Facts(facts.predicate, [numbers, *arguments[1:]], facts.count)
    for part in split(numbered, config.layout, dictionary):
        rows = part.columns[0]
        columns = [keys[rows], arguments[0][rows], *part.columns[1:]]
        yield Facts(config.names.get(part.predicate, part.predicate), columns, part.count)
