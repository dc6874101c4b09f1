"""One formula in other notations."""
