"""JPL's DE421 through skyfield, with the kernel that skyfield-data carries: no network.

Source: W. M. Folkner, J. G. Williams, D. H. Boggs, "The planetary and lunar ephemeris DE 421", JPL IPN progress report
42-178 (2009). Positions are barycentric, which makes the light time right to the relativistic delay: at most 0.2 ms, at
superior conjunction, and left out.
"""

from __future__ import annotations

import atexit
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dstcc.errors import MissingCapabilityError

from .bodies import BODIES
from .times import DAY_S

J2000_JD = 2_451_545.0


def position_m(name: str, tdb_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where a body is, ``(n, 3)`` metres from the solar system's barycentre in the ICRF.

    ``tdb_s``: ``(n,)`` seconds of TDB since J2000. Raises ``MissingCapabilityError`` without skyfield and its data.
    """
    kernel, timescale = _kernel()
    at = timescale.tdb_jd(J2000_JD, tdb_s / DAY_S)
    return np.asarray(kernel[BODIES[name].kernel].at(at).position.m.T, dtype=np.float64)


@cache
def _kernel() -> tuple[Any, Any]:
    """The kernel and a time scale, read once."""
    try:
        from skyfield.api import load, load_file
    except ImportError as error:
        raise _lacking(error) from error
    try:
        with warnings.catch_warnings():
            # skyfield warns that its table of Earth's rotation is old; only the kernel is used here.
            warnings.filterwarnings("ignore", "The file finals2000A.all has expired", RuntimeWarning)
            from skyfield_data import get_skyfield_data_path

            folder = Path(get_skyfield_data_path())
    except ImportError as error:
        raise _lacking(error) from error
    kernel = load_file(str(folder / "de421.bsp"))
    atexit.register(kernel.close)  # skyfield keeps the file open, and Python warns of that at exit
    return kernel, load.timescale(builtin=True)


def _lacking(error: ImportError) -> MissingCapabilityError:
    return MissingCapabilityError(
        f"ephemeris = 'de421' needs the packages skyfield and skyfield-data ({error}): "
        "pip install 'dstcc[ephemeris]', or use ephemeris = 'kepler'"
    )
