"""Who computes a model: torch or ONNX Runtime, behind the protocols in decoding.search and labelling."""
