"""Random trials of the engine: what they are, how they run, and what of a result is compared (``equal_trials.py``)."""
