"""The command line: one function a verb."""

from unrender.cli.main import main

__all__ = ["main"]
