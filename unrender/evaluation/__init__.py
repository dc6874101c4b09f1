"""Measure a reader on pictures with known truth."""
