"""A policy whose sender restarts: it decides nothing while the machine boots, and begins without a memory."""

from __future__ import annotations

from dstcc.learn.policies.policy import load_policy
from dstcc.scenario import draw_trial, engine_config, load_source, parse_scenario


def test_it_decides_from_the_boots_end_on() -> None:
    scenario = parse_scenario(
        {
            "scenario": {"name": "restarts"},
            "video": {"synthetic": {"chunk_s": 10.0, "layer_bps": [40_000, 20_000]}, "loop_to_s": 1_200},
            "link": [{"name": "a", "rate_bps": 100_000, "delay_s": 30, "loss": {"packet": 0.01}}],
            "transport": {
                "controller": "dstcc-lanes",
                "restart": {"at_s": [600], "boot_s": 120, "spool": True},
            },
            "playout": {"delay_s": 900},
        },
        source="here",
    )
    source = load_source(scenario)
    config = engine_config(scenario, draw_trial(scenario, source, 1), "agent", "agent")
    times_s: list[float] = []
    result = load_policy("dstcc-lanes").drive(config, lambda decided: times_s.append(decided.t_s))
    assert (result.objects.complete_ns >= 0).all()
    # The first connection is driven to 600 s; once more, unseen, for what was under way; the second from 720 s on.
    assert times_s == sorted(set(times_s)) and times_s[0] == 0
    assert not [time_s for time_s in times_s if 600 < time_s < 720]
    assert max(times_s) > 720
    # What left in the last round trip goes again, beside the policy's copies: at most 60 s of the line, 730 kB.
    repeated = result.objects.retransmissions.sum()
    assert repeated > 0 and result.totals.retransmitted_payload_bytes > 0
    held = 60 * 40_000 / 8  # captured meanwhile, base layers alone
    assert result.totals.sent_payload_bytes >= config.objects.payload_bytes.sum() + held
