"""The data of the receipt reader."""
