"""Unit tests, without a sandbox: `python -m unittest`, with the generated bindings on PYTHONPATH."""
