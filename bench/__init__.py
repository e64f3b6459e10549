"""The project's speed figures and comparisons: ``make bench`` or ``python -m bench [--only NAME] [--json]``.

A figure is a row of the table in ``registry.py``: a name, a function that measures, and often a goal.
Whatever it is compared with is measured beside it, turn by turn in the same run; the median of the repeats
counts. Times are CPU seconds of the processes involved, user and system together, since the machine may be
shared.
"""
