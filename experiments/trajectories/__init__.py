"""Trajectories of Linux's congestion controls: recorded on the kernel, and what the simulator does of the same case.

``cases`` describes each case, ``record`` plays one in a guest (``inside``, and the C++ ``program`` that carries its
packets), ``states`` reads what was recorded and has the simulator do the same, ``figures`` draws both.
"""
