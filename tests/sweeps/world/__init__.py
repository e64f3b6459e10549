"""Sweeps in a simulated world: the product's own code, on a scheduler, a clock, a disk and machines of the test's.

``processes`` is the scheduler and its clock, ``disk`` a file system that may fill and lose what was not flushed,
``machines`` what the executors start (workers, Slurm, Ray), ``runs`` a run of some lives with faults, and what must be
true after each. All that a run does follows from its seed:

    python -m tests.sweeps.world [-n RUNS] [--seed FIRST]
"""
