"""Scenarios as regression tests: ``pytest --dstcc FOLDER`` runs every scenario under FOLDER as a test item.

A scenario is a ``*.toml`` file with a ``[scenario]`` table. Its item runs all its trials and fails where a
trial fails or a bound of ``[expect]`` is missed, showing the metric, the bound and the value. One with
``[programs]`` has an item that runs these on the virtual-time kernel, and one for its trials only where a bound is
on them. Nothing heavy is imported unless the option is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from _pytest._code.code import TerminalRepr

from dstcc.errors import ScenarioError
from dstcc.reading import read_toml

PICTURES = ("psnr_db", "ssim", "vmaf")
"""Metrics that need the pictures decoded: left out of a test that has no bound on them."""


class ScenarioFailedError(Exception):
    """A scenario's trials failed or missed their bounds; the text has a line for each."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--dstcc`` and ``--dstcc-allow-extensions``."""
    parser.getgroup("dstcc").addoption(
        "--dstcc-allow-extensions",
        action="store_true",
        help="run the Python files that these scenarios name",
    )
    parser.getgroup("dstcc").addoption(
        "--dstcc",
        action="append",
        default=[],
        metavar="FOLDER",
        help="run every dstcc scenario (*.toml with a [scenario] table) under FOLDER as a test; repeatable",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Add the folders of ``--dstcc`` to those that pytest collects from."""
    for folder in _folders(config):
        if not folder.is_dir():
            raise pytest.UsageError(f"--dstcc {folder}: no such folder")
        asked = [(config.invocation_params.dir / arg.split("::")[0]).resolve() for arg in config.args]
        if not any(folder.is_relative_to(path) for path in asked):
            config.args.append(str(folder))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ScenarioFile | None:
    """Collect a scenario file under a folder of ``--dstcc``."""
    if file_path.suffix != ".toml":
        return None
    if not any(file_path.resolve().is_relative_to(folder) for folder in _folders(parent.config)):
        return None
    if not _is_scenario(file_path):
        return None
    return ScenarioFile.from_parent(parent, path=file_path)


class ScenarioFile(pytest.File):
    """A scenario file: an item for its trials, and one for its programs."""

    def collect(self) -> Iterator[pytest.Item]:
        """As the file's tables say; what is not valid is an item's to report."""
        programs, about_trials = _tables_of(self.path)
        if about_trials or not programs:
            yield ScenarioItem.from_parent(self, name="expect")
        if programs:
            yield ProgramsItem.from_parent(self, name="programs")


class _Item(pytest.Item):
    """What the items of a scenario share."""

    about = "scenario"

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None
    ) -> str | TerminalRepr:
        """The lines of the error, without a traceback for known errors."""
        from dstcc.errors import DstccError

        if isinstance(excinfo.value, (ScenarioFailedError, DstccError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, None, str]:
        """The item's file, for the report's heading."""
        return self.path, None, f"{self.about} {self.path.name}"


class ProgramsItem(_Item):
    """Runs a scenario's ``[programs]`` and checks them against its ``[expect]``."""

    about = "programs of"

    def runtest(self) -> None:
        """Run them; raises :class:`ScenarioFailedError` with a line for each bound that was missed."""
        from dstcc.expect import check_programs
        from dstcc.run.programs import run_programs
        from dstcc.scenario import load_scenario

        scenario = load_scenario(self.path)
        misses = check_programs(scenario.expect, run_programs(scenario), where=str(self.path))
        if misses:
            raise ScenarioFailedError("\n".join(map(str, misses)))


class ScenarioItem(_Item):
    """Runs a scenario's trials and checks them against its ``[expect]``."""

    def runtest(self) -> None:
        """Run the scenario; raises :class:`ScenarioFailedError` with a line for each failed trial and for each
        bound that was missed or that applies to no trial."""
        from dstcc.trust import allowed

        with allowed() if self.config.getoption("--dstcc-allow-extensions") else nullcontext():
            self._check()

    def _check(self) -> None:
        from dstcc.expect import OUT_OF_REACH, check, idle, unseen
        from dstcc.run import run_trials
        from dstcc.scenario import load_scenario

        scenario = load_scenario(self.path)
        pictures = any(key.endswith(PICTURES) for key in scenario.expect)
        trials = run_trials(scenario, quality=pictures)
        lines = [f"{trial.id}: failed: {trial.error}" for trial in trials if trial.status == "failed"]
        lines += [str(miss) for miss in check(scenario.expect, trials, where=str(self.path))]
        lines += [f"{self.path}: expect.{key}: no trial is of it" for key in idle(scenario.expect, trials)]
        lines += [f"{self.path}: expect.{key}: {OUT_OF_REACH}" for key in unseen(scenario.expect, trials)]
        if lines:
            raise ScenarioFailedError("\n".join(lines))


def _folders(config: pytest.Config) -> list[Path]:
    given: list[str] = config.getoption("--dstcc")
    return [(config.invocation_params.dir / folder).resolve() for folder in given]


def _is_scenario(path: Path) -> bool:
    """Whether the file has a ``[scenario]`` table; a file that is not valid TOML counts, so that its item reports
    the error."""
    try:
        return "scenario" in read_toml(path, ScenarioError)
    except ScenarioError:
        return True


def _tables_of(path: Path) -> tuple[bool, bool]:
    """Whether a scenario has ``[programs]``, and whether a bound of it is on trials."""
    from dstcc.scenario import load_scenario

    try:
        document = read_toml(path, ScenarioError)
        if not document.keys() & {"programs", "extends"}:
            return False, True
        scenario = load_scenario(path)
    except ScenarioError:
        return False, True
    return scenario.programs is not None, any(not key.startswith("programs.") for key in scenario.expect)
