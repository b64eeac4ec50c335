"""Stores: what a knowledge base holds, in a folder, whatever happens to the process or the machine.

    MANIFEST              which of the files below count; replaced atomically
    LOCK                  held by the one writer, and says who that is
    log-NUMBER.wal        the write-ahead log from change NUMBER on: records with length and checksums
    snapshot-NUMBER/      everything after the changes up to NUMBER, as Arrow files

The protocol.  Every change has a number.  A writer

1.  appends the change to the log, and syncs it as the policy says;
2.  applies it in memory;
3.  appends the outcome: *done* if it went well, *rejected* (synced) if not;
4.  returns to the caller.

The updates of a batch (they have a source and a batch number) stop after step 1 and wait in the inbox.  They
are applied later, in order; *done* is appended when the receiver has acknowledged their deltas.  That updates
are applied as one is logged before they are.

Recovery reads the newest intact snapshot and then the log after it.  Changes up to the last *done* are
applied again, rejected ones skipped.  After that mark there is at most one change that is not part of a
batch: it was being applied when the writer ended, and is applied now.  Updates of batches after the mark wait
again, so that their deltas are delivered again.

A snapshot is what is in memory, so it is taken only where every applied change is done.  It names the offset
in the log of the first change that it does not hold.  Files are written and synced first, the manifest is
replaced second, files that it no longer names are removed last; the snapshot before, and the log from there
on, stay.

Nothing here knows what changes mean or how facts are derived; `api.stored` does.  Nothing here is pickled.
"""
