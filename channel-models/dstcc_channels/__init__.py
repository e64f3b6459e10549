"""Link physics: what a deep-space link really does at a date, and what the simulator needs of it.

Codes and budgets (:mod:`.codes`, :mod:`.budget`), where the bodies are (:mod:`.geometry`), who may talk when
(:mod:`.contacts`), the links we ship (:mod:`.profiles`), a link's state over time (:mod:`.states`) and a run's share
of it (:mod:`.realise`). Knows nothing of scenarios or of the engine.
"""

from __future__ import annotations
