"""Receipts: from labelled words to fields, by what a network says of the words and by what the words say themselves."""
