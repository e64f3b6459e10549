"""Who steers layers coded over packets, once a slot: what a sender sees and may decide, beliefs of the channel, a
planner on them, and rules. :mod:`dstcc.forecast` stands on it.
"""
