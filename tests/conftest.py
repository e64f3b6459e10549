from __future__ import annotations

from hypothesis import HealthCheck, settings

# A busy machine must not fail a test: no deadline for an example, no complaint about slow generation.
settings.register_profile("dstcc", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("dstcc")
