"""`python -m unrender` is the command line."""

from unrender.cli import main

main()
