"""Link physics: the state of a deep-space link at a date, and the part of it that the simulator needs.

Codes and budgets (:mod:`.codes`, :mod:`.budget`), where the bodies are (:mod:`.geometry`), who may talk when
(:mod:`.contacts`), the links we ship (:mod:`.profiles`), a link's state over time (:mod:`.states`) and the values that
one run sees (:mod:`.realise`). This package knows nothing of scenarios or of the engine.
"""

from __future__ import annotations
