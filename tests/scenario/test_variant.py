"""Variants: an algorithm once more, with settings of its own and everything else the scenario's."""

from __future__ import annotations

from pathlib import Path

import pytest

from dstcc.errors import InputError, ScenarioError
from dstcc.scenario import (
    Scenario,
    content_hash,
    draw_trial,
    engine_config,
    extensions_of,
    load_scenario,
    load_source,
    to_toml,
)
from dstcc.trust import allowed
from tests.scenario.conftest import MINIMAL, Write

TRANSPORT = """
[transport]
mode = "lanes"
lanes_per_link = 16
initial_cwnd = 20
congestion = ["newreno", "cubic"]
scheduler = ["round-robin", "minrtt"]
[run]
scale = 2
"""
TUNED = """
[[variant]]
label = "tuned cubic"
congestion = "cubic"
set = {scale = 1, initial_cwnd = 500, mss_bytes = 1000}
"""


def read(write: Write, *variants: str) -> Scenario:
    return load_scenario(write(MINIMAL + TRANSPORT + "\n".join(variants)))


def variant(text: str) -> str:
    return f'[[variant]]\nlabel = "mine"\n{text}\n'


@pytest.mark.parametrize(
    ("keys", "place", "inherited"),
    [
        ("", "set.initial_cwnd", "transport.initial_cwnd"),
        ("set = {initial_cwnd = 7}", "set.initial_cwnd", None),
        ("", "set.mss_bytes", None),  # nobody gives it
        ("", "set.initial_cwnd = 20", "transport.initial_cwnd = 20"),
        ("", "set.", None),
        ("", "congestion", None),
        ("", "unset.initial_cwnd", None),
        ("", "set.coding.block_s", "coding.block_s"),
        ("set = {coding = {repair = [0.1]}}", "set.coding.block_s", "coding.block_s"),
        ("set = {coding = {block_s = 2}}", "set.coding.block_s", None),
        ("", "set.coding.place", None),
        ("", "set.coding", None),
    ],
)
def test_a_key_is_the_scenarios_where_the_variant_gives_none(
    write: Write, keys: str, place: str, inherited: str | None
) -> None:
    text = (
        MINIMAL
        + """
[transport]
mode = "coded"
congestion = "open-loop"
initial_cwnd = 20
[coding]
block_s = 5
"""
    )
    scenario = load_scenario(write(text + variant(f'congestion = "open-loop"\n{keys}')))
    (mine,) = scenario.variant
    assert mine.inherits(place, scenario) == inherited


def test_a_variant_is_its_algorithm_with_its_settings_and_the_rest_of_the_scenario(write: Write) -> None:
    scenario = read(write, TUNED)
    tuned = scenario.as_variant("tuned cubic")
    assert (tuned.transport.congestion, tuned.transport.scheduler) == (("cubic",), ("round-robin",))
    assert (tuned.transport.initial_cwnd, tuned.transport.mss_bytes, tuned.run.scale) == (500, 1000, 1)
    assert (tuned.transport.mode, tuned.transport.lanes_per_link) == ("lanes", 16)
    assert (tuned.link, tuned.video, tuned.playout) == (scenario.link, scenario.video, scenario.playout)
    assert (scenario.transport.initial_cwnd, scenario.run.scale) == (20, 2)
    setup = draw_trial(tuned, load_source(tuned), 1)
    made = engine_config(tuned, setup, "cubic", "round-robin")
    assert (made.transport.scale, made.transport.initial_cwnd, made.links[0].subflows) == (1, 500, 16)


def test_a_stream_leaves_the_scenarios_lanes_behind(write: Write) -> None:
    plain = read(write, variant('congestion = "cubic"\nscheduler = "ecf"\nset = {mode = "stream"}'))
    transport = plain.as_variant("mine").transport
    assert (transport.mode, transport.lanes_per_link, transport.scheduler) == ("stream", 1, ("ecf",))
    assert transport.initial_cwnd == 20


def test_a_policy_brings_its_own_window_and_scheduler(write: Write) -> None:
    transport = read(write, variant('controller = "dstcc-lanes"')).as_variant("mine").transport
    assert (transport.controller, transport.congestion, transport.scheduler) == (("dstcc-lanes",), (), ())


def test_our_transport_has_the_segments_and_the_scale_that_are_set_and_chooses_all_else(write: Write) -> None:
    made = read(write, variant('controller = "dstcc"\nset = {scale = 3, mss_bytes = 1000}')).as_variant(
        "mine"
    )
    assert (made.run.scale, made.transport.mss_bytes, made.transport.mode) == (3, 1000, "coded")
    assert made.transport.initial_cwnd == type(made.transport).model_fields["initial_cwnd"].default


def test_a_policy_of_coded_packets_runs_over_its_own_control_or_the_scenarios(write: Write) -> None:
    own = variant('controller = "gru-mpc"\ncongestion = "open-loop"\nset = {mode = "coded"}')
    transport = read(write, own).as_variant("mine").transport
    assert (transport.controller, transport.congestion) == (("gru-mpc",), ("open-loop",))
    coded = MINIMAL + '[transport]\nmode = "coded"\ncongestion = ["bbr-scaled", "cubic"]\n[coding]\n'
    for text, under in (
        ('controller = "gru-mpc"', "bbr-scaled"),
        ('controller = "gru-mpc"\ncongestion = "cubic"', "cubic"),
    ):
        transport = load_scenario(write(coded + variant(text))).as_variant("mine").transport
        assert (transport.controller, transport.congestion) == (("gru-mpc",), (under,))


def test_only_a_pinned_variant_keeps_the_layers_links(write: Write) -> None:
    pinned = 'scheduler = ["layer-pinned"]\nlayer_links = ["relay"]'
    base = MINIMAL + f"[transport]\n{pinned}\n"
    other = variant('congestion = "cubic"\nscheduler = "ecf"\nset = {layer_links = ["direct"]}')
    with pytest.raises(ScenarioError, match="layer_links: needs scheduler"):
        load_scenario(write(base + other))
    same = load_scenario(write(base + variant('congestion = "bbr"'))).as_variant("mine")
    assert same.transport.layer_links == ("relay",)


def test_variants_change_nothing_of_what_is_emulated(write: Write) -> None:
    assert content_hash(read(write)) == content_hash(read(write, TUNED))


def test_the_resolved_text_has_them(write: Write, tmp_path: Path) -> None:
    scenario = read(write, TUNED, variant('controller = "dstcc"'))
    (tmp_path / "again.toml").write_text(to_toml(scenario))
    assert load_scenario(tmp_path / "again.toml") == scenario


def test_a_class_of_ones_own_may_be_one(write: Write, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("class Half:\n    def on_ack(self, view):\n        return 2.0\n")
    scenario = read(write, variant('congestion = "own.py:Half"'))
    with pytest.raises(InputError, match="allow-extensions"):
        extensions_of(scenario)
    assert scenario.as_variant("mine").transport.congestion == (f"{tmp_path / 'own.py'}:Half",)
    with allowed():
        assert [extension.name for extension in extensions_of(scenario)] == ["Half"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'congestion = "cubic"\nset = {initial_cwnd = 0}',
            "variant.0.set.initial_cwnd = 0: input should be gre",
        ),
        (
            'congestion = "cubic"\nset = {initial_cwd = 9}',
            "variant.0.set.initial_cwd: no setting of a variant; did",
        ),
        (
            'congestion = "cubic"\nset = {congestion = "bbr"}',
            "variant.0.set.congestion: no setting of a variant",
        ),
        ('congestion = "cubic"\nset = {delay_s = 9}', "variant.0.set.delay_s: no setting of a variant"),
        ('congestion = "cubic"\nset = {scale = 0}', "variant.0.set.scale = 0: input should be greater"),
        (
            'congestion = "cubic"\nset = {mode = "stream", lanes_per_link = 2}',
            "variant.0.set.lanes_per_link: needs mo",
        ),
        ('congestion = "cubik"', "variant.0.congestion: 'cubik': no such congestion control"),
        ('congestion = "cubic"\nscheduler = "blest"', "variant.0.scheduler: 'blest': it keeps one stream"),
        (
            'congestion = "cubic"\ncontroller = "dstcc-lanes"',
            'variant.0.controller: needs either congestion or controller; both with mode = "coded" only',
        ),
        (
            'controller = "gru-mpc"\nset = {mode = "coded"}',
            "variant.0.controller: a policy of coded packets steers their repair over one congestion control",
        ),
        ("", "variant.0: needs either congestion or controller"),
        ('controller = "dstcc"\nscheduler = "ecf"', "variant.0.scheduler: a controller takes no scheduler"),
        (
            'congestion = "cubic"\nset = {told_rates = true}',
            "variant.0.set.told_rates: no algorithm here can be configured with them; needs dstcc or paced",
        ),
        ('congestion = "ltp"\nscheduler = "ecf"', "variant.0.scheduler: 'ecf': ltp takes no scheduler"),
    ],
)
def test_what_cannot_be_is_named(write: Write, text: str, message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        read(write, variant(text))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("inherited", "text", "message"),
    [
        (
            "receive_buffer_bytes = 1_000_000",
            'congestion = "open-loop"\nset = {mode = "coded"}',
            "transport.receive_buffer_bytes: variant 'mine': coded keeps no order",
        ),
        (
            "restart = {at_s = [5], boot_s = 1, spool = true}",
            'congestion = "ltp"\nset = {ltp_green_from_layer = 1}',
            "transport.restart: variant 'mine': cannot be combined with ltp_green_from_layer",
        ),
        (
            "ltp_green_from_layer = 1",
            'congestion = "ltp"\nset = {restart = {at_s = [5], boot_s = 1, spool = true}}',
            "variant.0.set.restart: cannot be combined with ltp_green_from_layer",
        ),
    ],
)
def test_what_a_variant_has_of_the_scenario_goes_by_the_scenarios_key(
    write: Write, inherited: str, text: str, message: str
) -> None:
    with pytest.raises(ScenarioError) as error:
        load_scenario(write(MINIMAL + f'[transport]\ncongestion = "cubic"\n{inherited}\n' + variant(text)))
    assert f": {message}" in str(error.value)


@pytest.mark.parametrize("label", ["a/b", "", " a", "a ", "-a", "a.b", "a\\nb", "x" * 41])
def test_labels_that_no_table_or_file_could_hold(write: Write, label: str) -> None:
    with pytest.raises(ScenarioError, match=r"variant\.0\.label"):
        read(write, f'[[variant]]\nlabel = "{label}"\ncongestion = "cubic"\n')


@pytest.mark.parametrize("label", ["cubic+minrtt", "newreno+round-robin", "cubic", "ltp", "tuned cubic"])
def test_a_label_is_nobody_elses_name(write: Write, label: str) -> None:
    with pytest.raises(ScenarioError, match=r"variant\.1\.label: .* is another's name"):
        read(write, TUNED, f'[[variant]]\nlabel = "{label}"\ncongestion = "bbr"\n')


def test_a_bound_may_be_on_a_variant(write: Write) -> None:
    bound = '[expect]\n"tuned cubic.playback_ratio" = ">= 0.5"\n'
    assert read(write, TUNED, bound).expect == {"tuned cubic.playback_ratio": ">= 0.5"}
    with pytest.raises(ScenarioError, match=r"expect\.tuned cubic\.playback_ratio: 'tuned cubic': no such"):
        read(write, bound)


def test_where_settings_were_chosen_changes_no_trial(write: Write) -> None:
    plain, said = read(write, TUNED), read(write, TUNED + "chosen_on = [901, 905]\n")
    assert said.variant[0].chosen_on == (901, 905)
    assert said.as_variant("tuned cubic") == plain.as_variant("tuned cubic")
    again = write(to_toml(said))
    assert load_scenario(again) == said


@pytest.mark.parametrize(
    ("seeds", "rule"),
    [
        ("[5, 1]", "the first seed and the last"),
        ("[-1, 4]", "chosen_on"),
        ("[1]", "chosen_on"),
        ("4", "chosen_on"),
    ],
)
def test_seeds_that_are_no_span_are_refused(write: Write, seeds: str, rule: str) -> None:
    with pytest.raises(ScenarioError, match=rf"variant\.0\.chosen_on.*|{rule}") as error:
        read(write, f"{TUNED}chosen_on = {seeds}\n")
    assert "variant.0.chosen_on" in str(error.value) and rule in str(error.value)


@pytest.mark.parametrize(
    ("first", "settings", "under"),
    [
        ("linux", 'congestion = "cubic"', "linux"),
        ("linux", 'congestion = "cubic"\nset = {mode = "lanes"}', "minrtt"),
        ("ecf", 'congestion = "cubic"\nset = {mode = "lanes"}', "ecf"),
        ("ecf", 'congestion = "cubic"\nset = {mode = "coded"}', "minrtt"),
        ("layer-pinned", 'congestion = "ltp"', "layer-pinned"),
        ("linux", 'congestion = "ltp"', "minrtt"),
    ],
)
def test_a_variant_has_the_scenarios_scheduler_where_its_transport_can(
    write: Write, first: str, settings: str, under: str
) -> None:
    text = f'{MINIMAL}[transport]\nscheduler = "{first}"\n[run]\nscale = 1\n{variant(settings)}'
    assert load_scenario(write(text)).as_variant("mine").transport.scheduler == (under,)


def test_rates_are_told_to_the_variants_that_can_have_them(write: Write) -> None:
    told = TRANSPORT.replace("[transport]", "[transport]\ntold_rates = true", 1)
    assert told != TRANSPORT
    ours, cubic = variant('controller = "dstcc"'), variant('congestion = "cubic"').replace("mine", "other")
    scenario = load_scenario(write(MINIMAL + told + ours + cubic))
    assert [scenario.as_variant(name).transport.told_rates for name in ("mine", "other")] == [True, False]
    with pytest.raises(ScenarioError, match=r"transport\.told_rates: no algorithm here"):
        load_scenario(write(MINIMAL + told + cubic))
