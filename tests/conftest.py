from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

# A busy machine must not fail a test: no deadline for an example, no complaint about slow generation.
settings.register_profile("dstcc", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("dstcc")

# A shell that starts tests in the background has them ignore SIGINT, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
