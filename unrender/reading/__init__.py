"""From a file to a Document: the reader, and what it is joined from."""
