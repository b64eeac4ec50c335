"""`python -m tidalog` is the command line."""

from tidalog.cli import main

if __name__ == "__main__":
    main()
