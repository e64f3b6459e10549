"""The figures, in the order they are printed."""

from __future__ import annotations

import difflib

from dstcc.errors import InputError

from . import (
    channel,
    coded,
    codes,
    controls,
    engine,
    extension,
    geometry,
    kernel,
    laws,
    learning,
    links,
    linux_grid,
    match,
    memory,
    missions,
    nodes,
    runs,
    sweeps,
    training,
    transfer,
    trials,
    video,
)
from .figure import Figure, Goal

FIGURES = (
    Figure("engine_ns_per_packet", engine.ns_per_packet, Goal("value", "<=", 60)),
    Figure("engine_floor", engine.floor, Goal("ratio", "<=", 6)),
    Figure("engine_event_floor", engine.event_floor, Goal("ratio", "<=", 6)),
    Figure("engine_bdp_growth", engine.bdp_growth, Goal("ratio", "<=", 1.5)),
    Figure("engine_subflow_growth", engine.subflow_growth, Goal("ratio", "<=", 3)),
    Figure("control_costs", controls.control_costs, Goal("ratio", "<=", 2)),
    Figure("scheduler_costs", controls.scheduler_costs, Goal("ratio", "<=", 2)),
    Figure("engine_bytes_per_packet", memory.bytes_per_packet, Goal("value", "<=", 64)),
    Figure("node_ns_per_hop", nodes.ns_per_hop, Goal("value", "<=", 25)),
    Figure("node_bytes_per_packet", nodes.bytes_per_stored, Goal("value", "<=", 64)),
    Figure("ltp_ns_per_segment", transfer.ltp_ns_per_segment, Goal("ratio", "<=", 2)),
    Figure("run_cost", runs.run_cost, Goal("value", "<=", 15)),
    Figure("coded_run_cost", runs.coded_run_cost, Goal("value", "<=", 15)),
    Figure("segment_run_cost", runs.segment_run_cost, Goal("value", "<=", 15)),
    Figure("ack_run_cost", runs.ack_run_cost, Goal("value", "<=", 15)),
    Figure("run_week_s", runs.week_s, Goal("value", "<=", 60)),
    Figure("coded_cost", coded.coded_cost, Goal("ratio", "<=", 1.3)),
    Figure("mission_day_s", missions.day, Goal("value", "<=", 0.1)),
    Figure("demo_emulate_s", missions.demo, Goal("value", "<=", 3)),
    Figure("emulate_trial_ms", trials.emulate_trial_ms, Goal("ratio", "<=", 1.67)),
    Figure("sweep_costs", sweeps.sweep_costs),
    Figure("sweep_efficiency", sweeps.sweep_efficiency, Goal("ratio", ">=", 0.9)),
    Figure("cli_help_s", missions.cli_help, Goal("value", "<=", 0.25)),
    Figure("cli_algorithms_s", missions.cli_algorithms, Goal("value", "<=", 0.25)),
    Figure("cli_dry_run_s", missions.cli_dry_run, Goal("value", "<=", 0.25)),
    Figure("cli_dry_run_demo_s", missions.cli_dry_run_demo, Goal("value", "<=", 0.25)),
    Figure("cli_explain_s", missions.cli_explain, Goal("value", "<=", 0.25)),
    Figure("encode_fps", video.encode_fps, Goal("ratio", ">=", 0.95)),
    Figure("loss_draw_ns", channel.loss_draw_ns, Goal("value", "<=", 10)),
    Figure("link_states_year_s", links.year_s, Goal("value", "<=", 0.5)),
    Figure("light_time_us", geometry.light_time_us, Goal("value", "<=", 0.25e6 / geometry.YEAR_MINUTES)),
    Figure("env_steps_per_s", learning.env_steps_per_s, Goal("value", ">=", 10_000)),
    Figure("train_steps_per_s", training.train_steps_per_s, Goal("value", ">=", 5_000)),
    Figure("train_shipped_steps_per_s", training.train_shipped_steps_per_s),
    Figure("dqn_match", match.dqn_match, Goal("ratio", ">=", 2)),
    Figure("inference_us", learning.inference_us, Goal("value", "<=", 50)),
    Figure("kernel_build_s", kernel.build_cpu_s, Goal("value", "<=", 600)),
    Figure("kernel_guest_s", kernel.guest_s, Goal("value", "<=", 2)),
    Figure("kernel_setup_s", kernel.setup_s, Goal("value", "<=", 2)),
    Figure("kernel_played_cost", kernel.played_cost, Goal("value", "<=", 2.5)),
    Figure("module_ack_cost", kernel.ack_cost, Goal("ratio", "<=", 1.3)),
    Figure("coded_gb_s", codes.coded_gb_s, Goal("value", ">=", 1)),
    Figure("kernel_demo_s", kernel.demo_s, Goal("value", "<=", 90)),
    Figure("extension_ack_us", extension.per_ack),
    Figure("extension_pick_us", extension.per_pick),
    Figure("linux_grid", linux_grid.linux_grid),
    Figure("laws", laws.laws),
)


def chosen(only: str | None, figures: tuple[Figure, ...] = FIGURES) -> tuple[Figure, ...]:
    """Pick the figures of a comma-separated list of names, in the table's order; all without one.

    Raises :class:`InputError` for an unknown name, with the nearest known one.
    """
    if only is None:
        return figures
    wanted = [name.strip() for name in only.split(",") if name.strip()]
    known = [figure.name for figure in figures]
    for name in wanted:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0)
            raise InputError(f"figure {name!r}: not known; the nearest is {near[0]!r}")
    return tuple(figure for figure in figures if figure.name in wanted)
