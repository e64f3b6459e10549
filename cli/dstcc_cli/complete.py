"""What the shell may complete a word to: names of algorithms, policies, profiles, codes, papers, examples and trials.

Each function is a click ``shell_complete``: of the context, the parameter and the word so far, the words it may become.
What cannot be read is no error here, there is just nothing to complete.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

SUFFIX = ".safetensors"


def congestion(_context: click.Context, _option: click.Parameter, word: str) -> list[CompletionItem]:
    """Congestion controls, transfers, and files of one's own."""
    from dstcc.algorithms import CODED_ONLY, CONGESTION, TRANSFERS

    return _names((*CONGESTION, *CODED_ONLY, *TRANSFERS), word)


def scheduler(_context: click.Context, _option: click.Parameter, word: str) -> list[CompletionItem]:
    """Schedulers, and files of one's own."""
    from dstcc.algorithms import SCHEDULERS

    return _names(SCHEDULERS, word)


def policy(_context: click.Context, _option: click.Parameter, word: str) -> list[CompletionItem]:
    """Our transport, shipped policies, and files."""
    from dstcc.algorithms import controllers

    return _names(controllers(), word)


def learner(_context: click.Context, _option: click.Parameter, word: str) -> list[CompletionItem]:
    """What can be trained."""
    from dstcc.algorithms import CODE_RATES, CONTROLLERS

    return _names((*CONTROLLERS, CODE_RATES), word, files=False)


def profile(_context: click.Context, _option: click.Parameter, word: str) -> list[CompletionItem]:
    """Shipped link profiles, and files."""
    from dstcc_channels.profiles import profile_names

    return _names(profile_names(), word)


def code(_context: click.Context, _option: click.Parameter, word: str) -> list[CompletionItem]:
    """Codes of links."""
    from dstcc_channels.codes import CODE_NAMES

    return _names(CODE_NAMES, word, files=False)


def paper(_context: click.Context, _option: click.Parameter, word: str) -> list[CompletionItem]:
    """Papers that can be reproduced."""
    from dstcc.papers.places import papers_here

    return _names(papers_here(), word, files=False)


def example(_context: click.Context, _option: click.Parameter, word: str) -> list[CompletionItem]:
    """Example scenarios."""
    from dstcc.gallery import gallery

    return _names((one.name for one in gallery()), word, files=False)


def trial(context: click.Context, _option: click.Parameter, word: str) -> list[CompletionItem]:
    """The trials of the run that stands before."""
    from dstcc.errors import DstccError
    from dstcc.run import load_run

    # An option without its value ends click's parsing; words before it are then left over.
    run = context.params.get("run") or next(iter(context.args), None)
    names: list[str] = []
    with suppress(DstccError, OSError):
        names = [str(row["id"]) for row in load_run(Path(run)).trials] if run is not None else []
    return _names(names, word, files=False)


def _names(names: Iterable[str], word: str, *, files: bool = True) -> list[CompletionItem]:
    """The names that begin with the word; where none does, the shell looks for files."""
    from click.shell_completion import CompletionItem

    found = [CompletionItem(name) for name in names if name.startswith(word)]
    return found or ([CompletionItem(word, type="file")] if files else [])
