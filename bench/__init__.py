"""The project's speed figures and comparisons: ``make bench`` or ``python -m bench [--only NAME] [--json]``.

A figure is a row of the table in ``registry.py``: a name, a function that measures, and often a goal.
A figure and its reference are measured alternately in the same run; the value is the median of the repeats. Times are
CPU seconds of the processes involved, user and system together, since other programs may use the machine.
"""
