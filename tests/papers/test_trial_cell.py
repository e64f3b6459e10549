"""A trial of a reproduction that fails ends the command by whose fault it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from dstcc.errors import DstccError
from dstcc.papers import trial_cell
from dstcc.papers.trial_cell import TrialCell
from dstcc.run.trials import Trial, trial_keys
from tests.quick import QUICK


@pytest.mark.parametrize(("refused", "code"), [(False, 1), (True, 2)])
def test_a_trial_that_fails_is_bad_input_only_where_it_asked_for_too_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: bool, code: int
) -> None:
    (tmp_path / "s.toml").write_text(QUICK)
    cell = TrialCell(tmp_path / "s.toml", (), "cubic", 1)
    (key, *_) = trial_keys(cell.scenario)
    failed = Trial(key, error="MemoryError: ", refused=refused)
    monkeypatch.setattr(trial_cell, "iter_trials", lambda *_, **__: iter([failed]))
    with pytest.raises(DstccError, match=r"cubic/s1: the trial failed: MemoryError") as error:
        cell.run(tmp_path)
    assert error.value.exit_code == code
