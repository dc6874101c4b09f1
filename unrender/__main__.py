"""`python -m unrender` is the command line."""

from unrender.cli import main

if __name__ == "__main__":  # not when a process that reads for this one loads it
    main()
