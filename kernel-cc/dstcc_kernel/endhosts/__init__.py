"""``dstcc run``: unmodified programs on both ends of a scenario's links, in the virtual-time kernel.

::

    command line ──> planning ──> mission.json ──> guest: inside ──> raw records ──> outcome ──> the run's folder
    (dstcc_cli.run)               (mission.py)       ├ one PID 1 per end host (host.py)
                                                     ├ the links (topology.py of trials)
                                                     └ samples, captures, logs

``flight.py`` joins these. What runs in the guest (``inside``, ``host``, ``sampling``, ``capture``, ``mission``,
``naming``) imports neither numpy nor the scenario's model.
"""
