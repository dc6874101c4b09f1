"""`python -m unrender` is the command line."""

from unrender.cli.main import main

main()
