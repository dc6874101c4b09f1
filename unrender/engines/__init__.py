"""Who computes a model: torch or ONNX Runtime, behind the protocol in decoding.py."""
