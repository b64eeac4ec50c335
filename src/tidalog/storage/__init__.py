"""Stores: what a knowledge base holds, in a folder, whatever happens to the process or the machine.

    MANIFEST              which of the files below count; replaced in one step
    LOCK                  held by the one writer, and says who that is
    log-NUMBER.wal        the write-ahead log from change NUMBER on: records with length and checksums
    snapshot-NUMBER/      what all changes up to NUMBER made, as Arrow files

Nothing here knows what changes mean or how facts are derived; that is `session.durable`.  Nothing here is
pickled.
"""
