"""A learned belief about a link's losses: what it sees and was trained on, its file, and the sender that plans on it.

Nothing here needs torch but :mod:`dstcc.forecast.training`.
"""
