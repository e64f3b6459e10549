"""Tunes rules over the measured loss by Optuna, on scenarios of one's own.

``python -m experiments.ladder_rules SCENARIO.. -o rules.json --trials 60``: for each kind of rule (``margin``,
``threshold``) the parameters with the most weight played on average over the scenarios and their seeds, from so many
trials of Optuna's tree-structured Parzen estimator. What was spent is in the file. With ``--study FILE`` a search goes
on where it was; a study of other scenarios, seeds or rules is refused.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dstcc.coded.rules import RULES, Range
from dstcc.coded.stored import save_rules
from dstcc.errors import DstccError, InputError, MissingCapabilityError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import optuna

    from dstcc.coded.fleet import Fleet

SEEDS = (901, 902, 903, 904)
"""That no published comparison uses."""
ABOUT = "dstcc"
"""The attribute of a study that says what it searches."""


def tuned(
    kind: str,
    fleets: Sequence[Fleet],
    trials: int,
    *,
    seed: int = 1,
    study_file: Path | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """The best rule of a kind in its stored form. Raises :class:`InputError` for a study of something else."""
    study = _study(kind, fleets, seed, study_file)
    rule = RULES[kind]

    def score(trial: optuna.Trial) -> float:
        parameters = {name: _suggest(trial, name, span) for name, span in rule.ranges.items()}
        return sum(float(fleet.run(rule(parameters)).mean()) for fleet in fleets) / len(fleets)

    def tell(_: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
        say(f"{kind} {trial.number + 1}/{trials}: {trial.value:.5f}, best {study.best_value:.5f}")

    left = trials - len(study.trials)
    if left > 0:
        study.optimize(score, n_trials=left, callbacks=[tell])
    return {
        "kind": kind,
        "name": kind,
        "parameters": {name: study.best_params[name] for name in rule.ranges},
        "value": study.best_value,
        "trials": len(study.trials),
    }


def _suggest(trial: optuna.Trial, name: str, span: Range) -> float:
    return trial.suggest_float(name, span.low, span.high, log=span.log)


def _study(kind: str, fleets: Sequence[Fleet], seed: int, file: Path | None) -> optuna.Study:
    try:
        import optuna
    except ImportError:
        raise MissingCapabilityError("Optuna tunes rules: pip install 'dstcc[learn]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage = None if file is None else f"sqlite:///{file}"
    sampler = optuna.samplers.TPESampler(seed=seed)
    study = optuna.create_study(
        study_name=kind, storage=storage, direction="maximize", sampler=sampler, load_if_exists=True
    )
    about = {"kind": kind, "seed": seed, "scenarios": trained_on(fleets)}
    known = study.user_attrs.get(ABOUT)
    if known is None and not study.trials:
        study.set_user_attr(ABOUT, about)
    elif known != about:
        raise InputError(
            f"{file}: an Optuna study of other scenarios, seeds or rules; give another file, or search these anew"
        )
    return study


def trained_on(fleets: Sequence[Fleet]) -> list[dict[str, Any]]:
    """What scenarios and seeds a search is over."""
    from dstcc.scenario.video import content_hash

    return [
        {
            "scenario": fleet.scenario.scenario.name,
            "sha256": content_hash(fleet.scenario),
            "seeds": list(fleet.seeds),
        }
        for fleet in fleets
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Tune all kinds of rules and write them."""
    from dstcc.coded.fleet import Fleet
    from dstcc.scenario import load_scenario

    parser = argparse.ArgumentParser(prog="python -m experiments.ladder_rules", description=__doc__)
    parser.add_argument("scenarios", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True, help="file of the rules")
    parser.add_argument("--trials", type=int, default=60, help="of each kind of rule (default 60)")
    parser.add_argument("--seed", type=int, default=1, help="of Optuna's draws (default 1)")
    parser.add_argument("--study", type=Path, help="SQLite file to keep the search in, and to go on from")
    arguments = parser.parse_args(argv)
    try:
        fleets = [Fleet(load_scenario(path), SEEDS) for path in arguments.scenarios]
        began, started = time.process_time(), time.monotonic()
        rules = [
            tuned(
                kind,
                fleets,
                arguments.trials,
                seed=arguments.seed,
                study_file=arguments.study,
                say=lambda line: print(line, file=sys.stderr),
            )
            for kind in RULES
        ]
        about = {
            "trained_on": trained_on(fleets),
            "optuna_seed": arguments.seed,
            "cpu_s": round(time.process_time() - began),
            "wall_s": round(time.monotonic() - started),
        }
        save_rules(arguments.output, rules, about)
    except DstccError as error:
        print(f"experiments.ladder_rules: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
