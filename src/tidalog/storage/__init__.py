"""Stores: what a knowledge base holds, in a folder, whatever happens to the process or the machine.

    MANIFEST              which of the files below count; replaced in one step
    LOCK                  held by the one writer, and says who that is
    log-NUMBER.wal        the write-ahead log from change NUMBER on: records with length and checksums
    snapshot-NUMBER/      what all changes up to NUMBER made, as Arrow files

The protocol.  Every change has a number.  A writer

1.  appends the change to the log, and syncs it as the policy says;
2.  carries it out in memory;
3.  appends a mark: *done* if it went well, *rejected* (synced) if not;
4.  returns to the caller.

The updates of a batch (they have a source and a batch number) stop after step 1 and wait.  Later they are
carried out in order; the mark *done* is appended when whoever gets their deltas has acknowledged them.  That
updates are carried out as one is logged before they are.

Opening reads the newest snapshot that is whole and then the log behind it.  Changes up to the last mark
*done* are carried out again, rejected ones passed over.  Behind that mark there is at most one change that is
no part of a batch: it was being carried out when the writer ended; nobody was told how it went, and it is
carried out now.  Updates of batches behind the mark wait again, so that their deltas are handed out again.

A snapshot is what is in memory, so it is taken only where every change that was carried out is done.  It
names the place in the log where changes begin that it does not hold.  Files are written and synced first, the
manifest is replaced second, files that it does not name any more are removed last; the snapshot before, and
the log from there on, stay.

Nothing here knows what changes mean or how facts are derived; that is `session.durable`.  Nothing here is
pickled.
"""
