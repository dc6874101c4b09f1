"""The data of the formula reader."""
