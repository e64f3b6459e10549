"""Controllers by name, and policy files of either kind: those that steer TCP, and forecasters for coded packets."""

from __future__ import annotations

from pathlib import Path

from dstcc.algorithms import OWN
from dstcc.errors import PolicyError
from dstcc.learn.policies.controller import Controller, read_policy
from dstcc.learn.policies.policy import load_policy

from .own import PART, Own
from .policy import ForecastPolicy, forecast_of, is_forecast


def load_controller(name_or_file: str | Path) -> Controller:
    """Our transport or a shipped policy by its name, or a policy file; raises as :func:`load_policy`."""
    if name_or_file == OWN:
        return Own()
    path, header, tensors = read_policy(name_or_file)
    return forecast_of(path, header, tensors) if is_forecast(header) else load_policy(name_or_file)


def load_forecaster(name_or_file: str | Path) -> ForecastPolicy:
    """A policy that steers coded packets; raises :class:`PolicyError` for one that steers TCP too."""
    policy = load_controller(name_or_file)
    if policy.name == OWN:
        raise PolicyError(f"{OWN}: is no forecaster; its learned part is {PART}")
    if not isinstance(policy, ForecastPolicy):
        raise PolicyError(
            f"policy {policy.name} has other actions: it steers TCP's subflows and lanes, not coded packets"
        )
    return policy
