"""From next-token scores to finished sequences, and how far to believe them."""
