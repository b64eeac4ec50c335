"""Stores: the content of a knowledge base in a folder, which survives a crash of the process or the machine.

    MANIFEST              which of the files below belong to the store; replaced atomically
    LOCK                  held by the one writer, and says who that is
    log-NUMBER.wal        the write-ahead log from change NUMBER on: records with length and checksums
    snapshot-NUMBER/      the state after the changes up to NUMBER, as Arrow files

The protocol.  Every change has a number.  A writer

1.  appends the change to the log, and syncs it as the policy says;
2.  applies it in memory;
3.  appends the outcome: *done* if it went well, *rejected* (synced) if not;
4.  returns to the caller.

The updates of a batch (they have a source and a batch number) stop after step 1 and wait in the inbox.  They
are applied later, in order; *done* is appended when the receiver has acknowledged their deltas.  That updates
are applied as one is logged before they are.

Recovery reads the newest intact snapshot and then the log after it.  Changes up to the last *done* are
applied again, rejected ones skipped.  After that record there is at most one change that is not part of a
batch: it was being applied when the writer ended, and is applied now.  Updates of batches after it wait in
the inbox again, so that their deltas are delivered again.

A snapshot is a copy of memory, so it is taken only when every applied change is done.  It names the offset in
the log of the first change that it does not hold.  Files are written and synced first, the manifest is
replaced second, files that it no longer names are removed last.  The snapshot before is kept, with the log
from there on.

Nothing here knows what changes mean or how facts are derived; `api.stored` does.  Nothing here is pickled.
"""
