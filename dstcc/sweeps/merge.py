"""Taking in the results of another folder of a study: copies of its parts, and of what is in none yet."""

from __future__ import annotations

import shutil

from dstcc.atomic import atomic_file, make_folder

from .places import Place
from .results import check_parts, parts_in, read_part


def take_in(place: Place, other: Place) -> None:
    """Copy the results of ``other`` beside those of ``place``; what is there already stays.

    Raises :class:`~dstcc.errors.RunError` for a folder that is no study, and for a part that is damaged.
    """
    other.about()
    check_parts(other)
    for part in [*parts_in(other.trials), *parts_in(other.others)]:
        read_part(part, ["key", "made_by"])
        target = place.others / part.name
        if not target.exists():
            make_folder(place.others)
            with atomic_file(target) as temporary:
                shutil.copyfile(part, temporary)
    for key in other.fresh.found():
        if not place.fresh.has(key):
            place.fresh.save(key, *other.fresh.load(key))
