"""``python -m dstcc_cli``."""

from __future__ import annotations

import os
import sys

# `python -m` looks for modules in the current folder first, but files there are the user's, not ours.
try:
    if sys.path[:1] == [os.getcwd()] and not os.path.exists("dstcc_cli"):  # noqa: PTH109, PTH110 - pathlib is one, too
        del sys.path[0]
except FileNotFoundError:  # of a folder that is gone, in which there is no module either
    pass

from .main import main

if __name__ == "__main__":
    main(prog_name="dstcc")
