"""``python -m dstcc_cli``."""

from __future__ import annotations

from .main import main

if __name__ == "__main__":
    main(prog_name="dstcc")
