"""The data of the word reader: pictures of words and lines, made and real."""
