"""The data of the page reader."""
