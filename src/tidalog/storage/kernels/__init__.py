"""The compiled part of storage: terms by value, in and out of a dictionary; rows, in and out of a store."""
