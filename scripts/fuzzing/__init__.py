"""Fuzzing of every reader of files that others may have written (``scripts/fuzz.py``)."""
