"""``[programs]``: what ``dstcc run`` starts on the hosts of a scenario, and a study of programs at each of its points.

Words in braces in command lines are replaced by their values, after a command line is split as a shell splits it, so
that a value is never split. ``{{word}}`` stands for ``{word}``; braces around anything else stay.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, field_validator, model_validator

from .fields import AsTexts, AsTuple, ScenarioTable, Seconds, WithDots, broken

WORD = re.compile(r"\{\{(?P<literal>[A-Za-z_]\w*)\}\}|\{(?P<word>[A-Za-z_]\w*)\}")
NAME = re.compile(r"[A-Za-z_]\w*")
GIVEN = ("python", "rtt_s", "scale", "seed")
"""Words that every run has: the Python that runs dstcc, the longest round trip of its paths by light alone, its time
scale, its seed."""
NOT_OURS = ("DSTCC_", "LD_")
"""Beginnings of environment variables that a run sets, or that its preloaded library depends on."""
LONGEST = 100_000
"""Characters of a command line."""

CommandLine = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST, pattern=r"^[^\x00]*$")]
Value = bool | int | float | str


class Programs(ScenarioTable):
    """``[programs]``: unmodified programs on the scenario's hosts."""

    run: CommandLine
    """The program whose end is the run's, on the spacecraft, or the node where paths begin."""
    on: dict[str, Annotated[tuple[CommandLine, ...], AsTexts, Field(min_length=1)]] = Field(
        default_factory=dict
    )
    """Host, or node → what else runs there, started before."""
    words: dict[str, Value] = Field(default_factory=dict)
    """Values of the words in braces."""
    env: dict[str, Value] = Field(default_factory=dict)
    """Environment of all programs."""
    sysctl: Annotated[dict[str, int | str], WithDots] = Field(default_factory=dict)
    """Kernel settings of all hosts, those of the network (``net.``)."""
    kernel: Literal["6.1", "6.12"] | None = None
    """Linux's version; unless given that of the command line or environment."""
    congestion: str | None = None
    """What TCP sockets have unless a program asks (CUBIC)."""
    mptcp: bool = False
    """Programs' TCP sockets are MPTCP's."""
    json_of: Annotated[tuple[str, ...], AsTuple] = ()
    """Hosts whose program prints a JSON object as its last line."""
    folder: str = "."
    """What programs see as ``/run/here``, relative to the file."""
    disk_mb: Annotated[int, Field(ge=1, le=65_536)] = 256
    wall_s: Seconds = 600.0
    """Real time after which a run is aborted."""

    @field_validator("words")
    @classmethod
    def _names(cls, value: dict[str, Value]) -> dict[str, Value]:
        for name in value:
            if not NAME.fullmatch(name) or name in GIVEN:
                why = "every run has it" if name in GIVEN else "a word has letters, digits and _"
                raise broken(f"'{name}': {why}")
        return value

    @field_validator("env")
    @classmethod
    def _variables(cls, value: dict[str, Value]) -> dict[str, Value]:
        for name, given in value.items():
            if not NAME.fullmatch(name) or name.startswith(NOT_OURS) or "\0" in str(given):
                raise broken(
                    f"'{name}': must be a variable of letters, digits and _ that does not begin with DSTCC_ or LD_"
                )
        return value

    @field_validator("sysctl")
    @classmethod
    def _settings(cls, value: dict[str, int | str]) -> dict[str, int | str]:
        for name, given in value.items():
            if (
                not re.fullmatch(r"net(\.[\w-]+)+", name)
                or isinstance(given, bool)
                or re.search(r"[\0\n]", str(given))
            ):
                raise broken(
                    f"'{name}': must be a setting of the network, like net.ipv4.tcp_sack, with a number or a text"
                )
        return value

    @model_validator(mode="after")
    def _words_and_uses(self) -> Programs:
        for key, text in self._lines():
            try:
                split = shlex.split(text)
            except ValueError as error:
                raise broken(f"{text!r}: {str(error).lower()}", key=key) from None
            if not split:
                raise broken("is empty", key=key)
        used = {match["word"] for _, text in self._lines() for match in WORD.finditer(text)} - {None}
        for word in self.words:
            if word not in used:
                raise broken(f"no command line has {{{word}}}", key=f"words.{word}")
        for key, text in self._lines():
            for match in WORD.finditer(text):
                word = match["word"]
                if word is not None and word not in self.words and word not in GIVEN:
                    known = ", ".join([*self.words, *GIVEN])
                    raise broken(
                        f"{{{word}}} has no value in programs.words ({known}); {{{{{word}}}}} is the text",
                        key=key,
                    )
        return self

    def _lines(self) -> Iterator[tuple[str, str]]:
        yield "run", self.run
        for host, lines in self.on.items():
            for line in lines:
                yield f"on.{host}", line

    def command_lines(
        self, given: Mapping[str, Value]
    ) -> tuple[tuple[str, ...], tuple[tuple[str, tuple[str, ...]], ...]]:
        """The run's own program, and the others with their hosts, in words; ``given`` has :data:`GIVEN`."""
        values = {**given, **self.words}

        def replaced(match: re.Match[str]) -> str:
            return f"{{{match['literal']}}}" if match["literal"] else text_of(values[match["word"]])

        def words(line: str) -> tuple[str, ...]:
            return tuple(WORD.sub(replaced, word) for word in shlex.split(line))

        return words(self.run), tuple(
            (host, words(line)) for host, lines in self.on.items() for line in lines
        )


def text_of(value: Value) -> str:
    """A value in a command line or a variable: whole numbers without a point, ``true`` and ``false``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)
