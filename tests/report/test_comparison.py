"""The words for differences: what each takes, and that nothing less earns it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from statistics import fmean
from types import SimpleNamespace
from typing import Any

import pytest

from dstcc.algorithms import CHOSEN_ON
from dstcc.report.comparison import (
    ALONE,
    FAILED,
    HIGHER_MEAN,
    HIGHEST,
    LEADS,
    LEAST,
    LOWER,
    MISSING,
    ONE_SEED,
    SAME_VALUE,
    UNCLEAR,
    WORSE,
    Comparison,
    Pair,
    compare_pooled,
    side,
)
from dstcc.report.comparison import compare as compare_section
from dstcc.report.controllers import namesakes
from dstcc.report.footing import Footing
from dstcc.report.load import _chosen_notes
from dstcc.report.model import Algorithm, Report, Section, Trial
from dstcc.report.pooled import pool
from dstcc.report.ranking import Beside, Ranked, headings, leader_of, words_of
from dstcc.report.ranking import ranking as ranking_of
from dstcc.report.summary import section_ranking
from dstcc.report.verdict import _ranked, equal_lanes, leading, pooled_verdict, verdict, without_rates
from dstcc.scenario import load_scenario
from dstcc.stats import (
    SAME,
    SIGNIFICANT,
    Estimate,
    Paired,
    estimate,
    holm,
    mean_estimate,
    paired_difference,
    paired_p,
)
from dstcc.tune import SEEDS

HIGH = [0.90, 0.91, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97, 0.98, 0.99]
LOW = [value - 0.5 for value in HIGH]
NEAR = [value - 0.01 for value in HIGH]
"""A point less at every seed: the intervals overlap, the differences do not reach zero."""
MIXED = [value + (0.02 if place % 2 else -0.03) for place, value in enumerate(HIGH)]
"""Half a point less on average, and more or less by turns: not significantly."""


def ranking(comparison: Comparison, played: Mapping[str, Estimate] | None = None) -> list[Ranked]:
    """The rows, with nothing beside them but what was played."""
    beside = {n: Beside(0.5, 0.25, (played or {}).get(n), None) for n in comparison.values}
    return ranking_of(comparison, beside)


def compare(samples: Mapping[str, list[float]], **more: Any) -> Comparison:
    """Algorithms by their values at seeds 0, 1, ..; the first leads."""
    leader = next(iter(samples))
    by_seed = {name: dict(enumerate(values)) for name, values in samples.items()}
    differences = {
        name: difference
        for name, values in by_seed.items()
        if name != leader and (difference := paired_difference(values, by_seed[leader]))
    }
    p_values = {
        Pair((a, b)): paired_p([one.differences])
        for a, b in combinations(samples, 2)
        if (one := paired_difference(by_seed[a], by_seed[b]))
    }
    given: dict[str, Any] = {
        "leader": leader,
        "values": {name: estimate(values) for name, values in samples.items()},
        "differences": differences,
        "adjusted": holm(p_values),
        "seeds": {name: min(len(values), len(samples[leader])) for name, values in samples.items()},
        "failed": frozenset(),
        "doubt": "",
    }
    return Comparison(**given | more)


def test_better_takes_ten_common_seeds_and_a_significant_difference() -> None:
    assert compare({"a": HIGH, "b": LOW}).word("b") == WORSE
    assert compare({"a": HIGH[:9], "b": LOW}).word("b") == LOWER
    assert compare({"a": HIGH, "b": LOW[:9]}).word("b") == LOWER


def test_a_doubt_about_the_leader_takes_the_word_away() -> None:
    assert compare({"a": HIGH, "b": LOW}, doubt="it was trained on this scenario").word("b") == LOWER


def test_the_differences_at_the_same_seeds_decide_and_not_the_intervals() -> None:
    assert compare({"a": HIGH, "b": NEAR}).values["b"].overlaps(estimate(HIGH))
    assert compare({"a": HIGH, "b": NEAR}).word("b") == WORSE
    assert compare({"a": HIGH, "b": NEAR[::-1]}).word("b") == UNCLEAR
    assert compare({"a": HIGH, "b": MIXED}).word("b") == UNCLEAR
    assert compare({"a": HIGH, "b": NEAR}, differences={}).word("b") == ONE_SEED
    assert compare({"a": HIGH, "b": HIGH}).word("b") == SAME_VALUE


def test_the_correction_counts_every_pair() -> None:
    """The same two algorithms, alone and beside eleven that differ from nobody: 1 pair and 13 · 12 / 2 = 78."""
    noise = [0.012, -0.004, 0.011, 0.002, 0.009, -0.003, 0.013, 0.001, 0.010, 0.004]
    near = [value - one for value, one in zip(HIGH, noise, strict=True)]
    p = paired_p([noise])
    assert SIGNIFICANT / 78 < p < SIGNIFICANT
    assert compare({"a": HIGH, "b": near}).word("b") == WORSE
    equals = {f"c{place}": HIGH for place in range(11)}
    many = compare({"a": HIGH, "b": near, **equals})
    assert many.word("b") == UNCLEAR
    assert many.adjusted[Pair(("a", "b"))] == 1.0 or many.adjusted[Pair(("a", "b"))] >= SIGNIFICANT


def test_who_has_the_higher_mean_is_not_called_lower() -> None:
    """The interquartile mean drops the two lowest and the two highest seeds of ten."""
    skewed = [0.1, 0.1, *HIGH[2:]]
    above = [value + 0.05 for value in skewed[:2]] + [value - 0.001 for value in HIGH[2:]]
    assert estimate(skewed).value > estimate(above).value
    made = compare({"a": skewed, "b": above}, adjusted={Pair(("a", "b")): 0.0})
    assert made.differences["b"].mean.value == pytest.approx((2 * 0.05 - 8 * 0.001) / 10)
    assert made.word("b") == HIGHER_MEAN and made.word("a") == HIGHEST


def test_a_difference_too_small_to_be_shown_is_none() -> None:
    # 0.04 percentage points at each seed, with no doubt at all; the last digit shown is 0.1.
    assert compare({"a": HIGH, "b": [value - 0.0004 for value in HIGH]}).word("b") == UNCLEAR


def test_one_seed_tells_nothing_apart() -> None:
    assert compare({"a": [0.9], "b": [0.1]}).word("b") == ONE_SEED
    assert compare({"a": HIGH, "b": [0.1]}).word("b") == ONE_SEED
    assert compare({"a": [0.9], "b": [0.9]}).word("b") == SAME_VALUE


def test_who_has_failed_trials_gets_no_comparison() -> None:
    comparison = compare({"a": LOW, "b": HIGH}, failed=frozenset({"b"}))
    assert [comparison.word(name) for name in "ab"] == [ALONE, FAILED]
    assert comparison.rivals == []


def test_the_highest_value_is_not_said_of_what_is_not_on_top() -> None:
    """One with failed trials is not compared, and its value is higher."""
    samples = {"a": NEAR, "b": MIXED, "c": HIGH}
    plain = leading(compare({"a": HIGH, "b": MIXED}))
    assert "the highest value;" in plain
    higher = leading(compare(samples, failed=frozenset({"c"})))
    assert "the highest value of those whose trials all finished;" in higher
    lower = leading(compare({"a": HIGH, "b": MIXED, "c": LOW}, failed=frozenset({"c"})))
    assert "the highest value;" in lower
    equal = leading(compare({"a": HIGH, "b": MIXED, "c": HIGH}, failed=frozenset({"c"})))
    assert "the highest value;" in equal
    leads = leading(compare({"a": NEAR, "b": LOW, "c": HIGH}, failed=frozenset({"c"})))
    assert leads.startswith("a delivered most video of those whose trials all finished, ")


def test_it_leads_who_is_better_than_each_of_the_others() -> None:
    assert compare({"a": HIGH, "b": LOW, "c": LOW}).word("a") == LEADS
    assert compare({"a": HIGH, "b": LOW, "c": MIXED}).word("a") == HIGHEST
    assert compare({"a": HIGH, "b": HIGH, "c": LOW}).word("a") == HIGHEST
    assert compare({"a": HIGH[:9], "b": LOW[:9]}).word("a") == HIGHEST
    assert compare({"a": [0.9], "b": [0.1]}).word("a") == HIGHEST
    assert compare({"a": HIGH, "b": LOW}, doubt="it was trained on this scenario").word("a") == HIGHEST
    assert compare({"a": HIGH}).word("a") == ALONE


def test_the_missing_get_a_row_and_a_word() -> None:
    comparison = compare({"a": HIGH, "b": LOW}, missing={"z": "not run in one"})
    assert comparison.word("z") == MISSING
    rows = ranking(comparison)
    assert [(row.name, row.value, row.word) for row in rows][-1] == ("z", "–", MISSING)
    assert [row.leader for row in rows] == [True, False, False]
    assert leader_of(rows) == "a"
    assert [word for word, _ in words_of(rows)] == [LEADS, WORSE, MISSING]


def footing(domains: int | None, windows: int, *knows: str, copies: str = "") -> Footing:
    return Footing((*knows, "deadlines"), domains, windows, copies, 1.0, (), {})


def test_rows_say_what_each_knows_and_has() -> None:
    footings = {"a": footing(8192, 2, "queue", copies="spare"), "b": footing(None, 2)}
    rows = ranking(compare({"a": HIGH, "b": LOW, "c": LOW}, footings=footings))
    assert [(row.knows, row.lanes) for row in rows] == [("qd", "8\u202f192/2+"), ("d", "any/2"), ("–", "–")]


def test_lanes_and_knowledge_that_differ_are_said_in_the_same_sentence() -> None:
    equal = {name: footing(32, 2) for name in "ab"}
    assert "lanes" not in leading(compare({"a": HIGH, "b": LOW}, footings=equal))
    more = equal | {"a": footing(64, 2)}
    said = leading(compare({"a": HIGH, "b": LOW}, footings=more))
    assert said.startswith("a (64/2 lanes) delivered most video")
    assert "b (32/2 lanes) 4" in said
    others = equal | {"b": footing(32, 2, "line")}
    assert "b (32/2 lanes, knows its transmitter's rate)" in leading(
        compare({"a": HIGH, "b": LOW}, footings=others)
    )


def test_those_on_equal_lanes_are_ranked_among_themselves() -> None:
    lanes = {"a": footing(64, 2), "b": footing(32, 2), "c": footing(32, 2), "d": footing(32, 32)}
    samples = {"a": HIGH, "b": LOW, "c": [0.2] * 10, "d": [0.1] * 10}
    assert equal_lanes(compare(samples, footings=lanes)) == (
        "a is alone on its lanes. On equal lanes (32/2): b 44.5\u202f% and c 20.0\u202f%."
    )
    beside = lanes | {"d": footing(64, 2)}
    assert equal_lanes(compare(samples, footings=beside)).startswith("On equal lanes (32/2): b")
    # nobody else's lanes are equal
    assert equal_lanes(compare(samples, footings=lanes | {"c": footing(8, 2)})) == ""
    assert equal_lanes(compare(samples)) == ""


@pytest.mark.parametrize("knows", ["rates", "line", "queue"])
def test_those_that_find_the_rates_out_are_named_where_the_leader_need_not(knows: str) -> None:
    footings = {"a": footing(32, 2, knows), "b": footing(32, 2, "line"), "c": footing(32, 2, "contacts")}
    samples = {"a": HIGH, "b": LOW, "c": [0.2] * 10, "d": [0.1] * 10}
    assert without_rates(compare(samples, footings=footings)) == (
        "Of those without r, l or q, which have to measure the links' rates: c 20.0\u202f%."
    )
    assert without_rates(compare(samples, footings=footings | {"a": footing(32, 2, "contacts")})) == ""
    assert without_rates(compare(samples, footings={"a": footings["a"], "b": footings["b"]})) == ""
    assert without_rates(compare(samples)) == ""


def test_a_margin_has_the_sign_and_the_seeds_of_the_leader() -> None:
    """10 points ahead at nine seeds, and 2 behind at the last: 8.8 on average."""
    by = [0.10] * 9 + [-0.02]
    said = verdict(section({"a": HIGH, "b": [value - one for value, one in zip(HIGH, by, strict=True)]}))
    low, high = mean_estimate([by]).bounds()
    assert 0 < low < 0.088 < high
    assert (
        f"It is better than b by 8.8 points on average (95 % interval {100 * low:.1f} to {100 * high:.1f}) "
        "and at 9 of 10 seeds." in said
    )


def test_against_a_reference_each_is_on_its_side() -> None:
    samples = {"a": HIGH, "ref": LOW, "b": [value - 0.2 for value in LOW], "c": MIXED}
    whole = replace(section(samples), against="ref")
    assert verdict(whole).endswith("Against ref at the same seeds, ahead: a and c; behind: b.")
    like = {"a": HIGH, "ref": NEAR, "c": [value - 0.005 for value in MIXED]}
    assert verdict(replace(section(like), against="ref")).endswith("ahead: a; unclear: c.")


def test_nothing_is_said_against_a_reference_below_ten_seeds() -> None:
    few = {"a": HIGH[:9], "ref": LOW[:9]}
    assert "Against" not in verdict(replace(section(few), against="ref"))
    assert "Against" in verdict(replace(section({"a": HIGH, "ref": LOW}), against="ref"))


def test_a_pair_without_two_common_seeds_is_no_comparison() -> None:
    """In one of the scenarios one seed is enough to leave it out: its differences have no variance there."""
    first = section({"a": HIGH, "b": LOW, "c": NEAR}, name="one")
    second = section({"a": HIGH, "b": [0.5], "c": NEAR}, name="two")
    assert of(second).adjusted.keys() == {Pair("ac")}
    assert of_all(first, second).adjusted.keys() == {Pair("ac")}
    assert of(first).adjusted.keys() == {Pair("ab"), Pair("ac"), Pair("bc")}


def test_a_page_of_several_scenarios_shares_its_five_percent() -> None:
    """One pair whose p-value is between 5 % / 8 and 5 % / 3."""
    noise = [0.011, 0.003, 0.009, -0.002, 0.013, 0.002, 0.008, -0.001, 0.010, 0.001]
    p = paired_p([noise])
    assert SIGNIFICANT / 8 < p < SIGNIFICANT / 3
    one = section({"a": HIGH, "b": [value - by for value, by in zip(HIGH, noise, strict=True)]})
    assert [of(replace(one, comparisons=count)).word("b") for count in (1, 3, 8)] == [WORSE, WORSE, UNCLEAR]


def test_only_one_that_leads_has_most_and_a_lone_one_is_not_praised() -> None:
    assert "a delivered most video" in leading(compare({"a": HIGH, "b": LOW}))
    assert "(95 % interval 91.8–97.2) of it" in leading(compare({"a": HIGH, "b": LOW}))
    assert "the highest value" in leading(compare({"a": HIGH, "b": MIXED}))
    assert "most" not in leading(compare({"a": HIGH, "b": MIXED}))
    alone = leading(compare({"a": LOW, "b": HIGH}, failed=frozenset({"b"})))
    assert "there is nothing to rank it by" in alone
    assert "most" not in alone
    assert "highest" not in alone


@pytest.mark.parametrize("seeds", [2, 5, 9, 10])
def test_no_word_depends_on_the_order_of_the_seeds(seeds: int) -> None:
    one, other = HIGH[:seeds], LOW[:seeds]
    forward = compare({"a": one, "b": other}).word("b")
    assert compare({"a": one[::-1], "b": other[::-1]}).word("b") == forward


def section(
    samples: Mapping[str, Sequence[float | None]],
    *,
    key: str = "weighted_layers",
    controllers: Sequence[str] = (),
    trained_on: Sequence[str] | None = (),
    name: str = "here",
    algorithm: str = "by-hand",
    variants: Sequence[Mapping[str, Any]] = (),
) -> Section:
    """A scenario's algorithms by their values at seeds 0, 1, ..; None is a trial that failed.

    The congestion control of "given .." is given the rates; ``controllers`` were trained on the scenarios
    of these hashes.
    """
    about = (
        {} if trained_on is None else {"trained_on": [{"scenario": one, "sha256": one} for one in trained_on]}
    )
    meta = {
        "scenario_name": name,
        "scenario_sha256": name,
        "controllers": [{"name": one, "algorithm": algorithm, **about} for one in controllers],
    }
    run: Any = SimpleNamespace(meta=meta, scenario={"variant": variants})
    labels = {one["label"] for one in variants}

    def trial(algorithm: str, seed: int, value: float | None) -> Trial:
        control = "open-loop" if algorithm.startswith("given") else "cubic"
        driven = algorithm if algorithm in controllers else None
        metrics = {} if value is None else {key: value}
        of = (
            run,
            f"{algorithm}/s{seed}",
            algorithm,
            control,
            "minrtt",
            driven,
            algorithm if algorithm in labels else None,
            seed,
        )
        return Trial(*of, ok=value is not None, error="", metrics=metrics, played={}, links=())

    return Section(
        (run,),
        tuple(
            Algorithm(name, tuple(trial(name, seed, value) for seed, value in enumerate(values)))
            for name, values in samples.items()
        ),
    )


def of(a_section: Section) -> Comparison:
    made = compare_section(a_section)
    assert made is not None
    return made


def of_all(*sections: Section) -> Comparison:
    pooled = pool(Report(sections))
    assert pooled is not None
    made = compare_pooled(pooled)
    assert made is not None
    return made


def test_the_highest_comes_first_and_the_leader_before_its_equals() -> None:
    result = of(section({"low": LOW, "given a": HIGH, "b": HIGH, "c": HIGH}))
    assert result.leader == "given a"
    assert list(result.values) == ["given a", "b", "c", "low"]
    assert [result.word(name) for name in ("given a", "c", "low")] == [HIGHEST, SAME_VALUE, WORSE]


def test_those_given_the_rates_are_ranked_as_all_others() -> None:
    result = of(section({"given a": HIGH, "b": LOW, "c": NEAR}))
    assert (result.leader, result.rivals) == ("given a", ["c", "b"])
    assert {row.name: row.word for row in ranking(result)} == {"given a": LEADS, "c": WORSE, "b": WORSE}


def test_who_lacks_trials_is_not_compared_with_who_lacks_none() -> None:
    part: list[float | None] = [None, *LOW[1:]]
    result = of(section({"a": LOW, "b": [None, *HIGH[1:]]}))
    assert (result.leader, result.failed, result.word("b")) == ("a", {"b"}, FAILED)
    both = of(section({"a": part, "b": [None, *HIGH[1:]]}))
    assert (both.leader, both.failed, both.word("a")) == ("b", frozenset(), LOWER)
    assert both.seeds == {"a": 9, "b": 9}


def test_who_finished_nothing_is_missing() -> None:
    result = of(section({"a": HIGH, "b": [None] * 10}))
    assert result.missing == {"b": "none of its trials finished"}
    assert result.word("b") == MISSING
    assert compare_section(section({"b": [None] * 10})) is None
    assert compare_section(section({"a": HIGH}, key="playback_ratio")) is None


def test_who_was_trained_here_is_doubted() -> None:
    samples = {"dstcc-lanes": HIGH, "b": LOW}
    assert of(section(samples)).doubt == ""
    assert of(section(samples, controllers=["b"], trained_on=["here"])).doubt == "", "the leader counts"
    assert of(section(samples, controllers=["dstcc-lanes"], trained_on=["there"])).doubt == ""
    trained = of(section(samples, controllers=["dstcc-lanes"], trained_on=["here"]))
    assert (trained.doubt, trained.word("b")) == ("dstcc-lanes was trained on here", LOWER)
    unknown = of(section(samples, controllers=["dstcc-lanes"], trained_on=None))
    assert (unknown.doubt, unknown.word("b")) == (
        "the run does not say what dstcc-lanes was trained on",
        LOWER,
    )


def test_who_had_constants_chosen_here_is_doubted_as_who_was_trained_here() -> None:
    samples = {"dstcc-lanes": HIGH, "b": LOW}

    def demo(**of: Any) -> Section:
        return section(samples, controllers=["dstcc-lanes"], trained_on=["there"], **of)

    assert CHOSEN_ON["dstcc-lanes"]["Mars, two links"] == ((1, 6),)
    here = of(demo(name="Mars, two links", algorithm="dstcc-lanes"))
    assert here.doubt == "constants of dstcc-lanes were chosen on Mars, two links (seeds 1 to 6)"
    assert here.word("b") == LOWER
    assert of(demo(name="another", algorithm="dstcc-lanes")).doubt == ""
    assert of(demo(name="Mars, two links", algorithm="pbq")).doubt == "", "whose constants these are not"


def test_our_transport_is_doubted_where_its_rules_were_chosen_though_nobody_trains_it() -> None:
    def mission(name: str) -> Section:
        return section({"dstcc": HIGH, "b": LOW}, controllers=["dstcc"], name=name, algorithm="dstcc")

    week, beyond = of(mission("a week of relay passes")), of(mission("further on"))
    why = "constants of dstcc were chosen on a week of relay passes (seeds 711 to 744 and 951 to 960)"
    assert (week.doubt, week.word("b")) == (why, LOWER)
    said = "(seeds 701 to 740, 901 to 905, 1101 to 1196, 951 to 960 and 965 to 968)"
    assert beyond.doubt == f"constants of dstcc were chosen on further on {said}"
    demo, other = of(mission("Mars, two links")), of(mission("another"))
    said = "constants of dstcc were chosen on Mars, two links (seeds 711 to 746, 951 to 960 and 965 to 968)"
    assert demo.doubt == said
    assert (demo.word("b"), other.doubt, other.word("b")) == (LOWER, "", WORSE)


def test_scenarios_on_which_something_was_chosen_are_there_by_these_names() -> None:
    root = Path(__file__).parents[2]
    paths = [path for name in ("examples", "experiments") for path in (root / name).rglob("*.toml")]
    there = {tomllib.loads(path.read_text()).get("scenario", {}).get("name") for path in paths}
    assert {name for chosen in CHOSEN_ON.values() for name in chosen} <= there


def test_who_was_tuned_here_is_doubted_as_who_was_trained_here() -> None:
    settings = {"label": "b", "congestion": "cubic", "set": {"initial_cwnd": 160}}

    def tuned(**more: object) -> Section:
        a_section = section({"a": LOW, "b": HIGH}, variants=[{**settings, **more}])
        assert _chosen_notes(a_section) == ([f"S{doubt[1:]}."] if more else [])
        return a_section

    doubt = "settings of b were chosen on here (seeds 901 to 905)"
    here = of(tuned(chosen_on=[901, 905]))
    assert (here.leader, here.doubt, here.word("a")) == ("b", doubt, LOWER)
    assert (of(tuned()).doubt, of(tuned()).word("a")) == ("", WORSE)


def test_saying_where_a_variant_was_chosen_makes_no_other_variant_of_it() -> None:
    said, unsaid = ({"label": "b", "set": {"scale": 2}, **more} for more in ({"chosen_on": [1, 2]}, {}))
    runs: list[Any] = [SimpleNamespace(meta={}, scenario={"variant": [one]}) for one in (said, unsaid)]
    assert namesakes(runs) == frozenset()
    runs[1].scenario["variant"][0] = {**unsaid, "set": {"scale": 3}}
    assert namesakes(runs) == {"b"}


def test_nothing_was_chosen_on_the_seeds_of_the_demos_page() -> None:
    root = Path(__file__).parents[2]
    first, count = map(
        int, re.findall(r"--seed (\d+) --seeds (\d+)", (root / "scripts/demo.sh").read_text())[0]
    )
    demo = load_scenario(root / "examples/demo/mars-two-links.toml")
    spans = [one.chosen_on for one in demo.variant if one.chosen_on is not None]
    assert len(spans) == 3 and {one.label for one in demo.variant if "tuned" in one.label} == {
        one.label for one in demo.variant if one.chosen_on
    }
    chosen = [of[demo.scenario.name] for of in CHOSEN_ON.values() if demo.scenario.name in of]
    assert all(chosen)
    spans += [*(span for of in chosen for span in of), (SEEDS[0], SEEDS[-1])]
    assert all(last < first or begin >= first + count for begin, last in spans)


def test_scenarios_together_count_the_poorest_and_any_failure() -> None:
    first = section({"a": HIGH, "b": LOW, "given c": HIGH}, name="one")
    second = section({"a": HIGH[:9], "b": LOW, "given c": [None, *HIGH[1:]]}, name="two")
    result = of_all(first, second)
    assert result.seeds == {"a": 9, "b": 9, "given c": 8}
    assert (result.leader, result.failed) == ("a", {"given c"})
    assert list(result.values) == ["given c", "a", "b"]
    assert result.word("b") == LOWER  # nine seeds in one of them
    assert of_all(first, first).word("b") == WORSE
    assert of_all(first, section({"a": LOW}, name="two")).missing == {
        "b": "not run in two",
        "given c": "not run in two",
    }


def test_scenarios_together_are_doubted_as_one_of_them_is() -> None:
    samples = {"dstcc-lanes": HIGH, "b": LOW}
    fresh, seen = (
        section(samples, controllers=["dstcc-lanes"], trained_on=["two"], name=name)
        for name in ("one", "two")
    )
    assert of_all(fresh, seen).doubt == of_all(seen, fresh).doubt == "dstcc-lanes was trained on two"
    assert of_all(fresh, fresh).doubt == ""


def test_scenarios_without_the_headline_have_no_contest_together() -> None:
    pooled = pool(Report((section({"a": HIGH}, key="playback_ratio"),) * 2))
    assert pooled is not None
    assert compare_pooled(pooled) is None


@pytest.mark.parametrize(
    ("mean", "adjusted", "expected"),
    [
        (0.0006, 0.049, 1),
        (LEAST, 0.049, 0),
        (0.0006, SIGNIFICANT, 0),
        (-0.0006, 0.049, -1),
        (-LEAST, 0.049, 0),
        (-0.0006, SIGNIFICANT, 0),
    ],
)
def test_a_difference_has_a_side_if_it_is_significant_and_shows(
    mean: float, adjusted: float, expected: int
) -> None:
    assert side(Paired(Estimate(mean, None, None, 9), (1, 2), (0.0, 0.0)), adjusted) == expected


def test_one_value_each_is_the_same_up_to_rounding() -> None:
    assert compare({"a": [SAME], "b": [0.0]}).word("b") == SAME_VALUE
    assert compare({"a": [2 * SAME], "b": [0.0]}).word("b") == ONE_SEED
    assert compare({"a": [0.9], "b": HIGH}).word("b") == ONE_SEED


def test_a_row_has_texts_in_percent_and_a_bar() -> None:
    comparison = compare({"a": [0.9], "b": HIGH})
    played = {"b": Estimate(0.5, 0.25, 0.75, 9), "a": Estimate(0.5, None, None, 1)}
    rows = {row.name: row for row in ranking(comparison, played)}
    assert (rows["a"].value, rows["a"].interval, rows["a"].played) == ("90.0", "", "50.0")
    assert rows["a"].bar == pytest.approx((90, 90, 90))
    assert rows["b"].played_interval == "25.0–75.0"
    low, high = comparison.values["b"].bounds()
    assert rows["b"].bar == pytest.approx((94.5, 100 * low, 100 * high))
    (alone,) = ranking(compare({"a": [0.9]}))
    assert (alone.played, alone.played_interval) == ("–", "")


def test_mean_worst_and_megabytes_stand_beside_the_interquartile_mean() -> None:
    """Ten seeds: one at 0.1 moves the mean and is the worst, and the interquartile mean drops it."""
    values = [0.1] + [0.9] * 9
    comparison = compare({"a": values, "b": LOW})
    beside = {
        "a": Beside(fmean(values), min(values), None, 1_751e6),
        "b": Beside(fmean(LOW), min(LOW), None, 20e6),
    }
    a, b = ranking_of(comparison, beside)
    assert (a.value, a.mean, a.worst, a.sent) == ("90.0", "82.0", "10.0", "1\u202f751.0")
    assert (b.mean, b.worst, b.sent) == ("44.5", "40.0", "20.0")
    (of_a_section, _) = section_ranking(section({"a": values, "b": LOW}))
    assert (of_a_section.mean, of_a_section.worst, of_a_section.sent) == ("82.0", "10.0", "–")


def test_a_missing_one_is_no_row_twice_and_the_columns_have_names() -> None:
    comparison = compare({"a": HIGH, "b": LOW}, missing={"b": "failed somewhere", "z": "not run"})
    rows = ranking(comparison)
    assert [row.name for row in rows] == ["a", "b", "z"]
    assert rows[-1].bar == (0, 0, 0)
    assert [label for label, _ in headings()] == [
        "Weighted layers",
        "Mean",
        "Worst seed",
        "Chunks played",
        "Sent",
    ]


def test_seeds_count_that_both_have() -> None:
    made = of(section({"a": HIGH[:9], "b": LOW}))
    assert made.seeds == {"a": 9, "b": 9}
    assert made.word("b") == LOWER


def test_better_than_each_takes_all_of_them() -> None:
    two = {"b": LOW, "c": [value - 0.1 for value in LOW]}
    assert "It is better than each of the others." in verdict(section({"a": HIGH, **two}))
    said = verdict(section({"a": HIGH, "d": MIXED, **two}))
    assert "It is better than b and c." in said
    assert "These seeds show no difference between a and d." in said


def test_those_that_are_not_named_have_their_least_and_their_highest() -> None:
    # Six rivals are more than are listed: four are named, and the others have 50 and 40 %.
    rivals = {f"r{n}": [0.9 - n / 10] * 10 for n in range(6)}
    said = leading(compare({"a": HIGH, **rivals})).replace("\u202f", " ")
    assert said.endswith("r3 60.0 % and 2 others between 40.0 and 50.0 %.")


def test_others_that_are_equal_have_one_value() -> None:
    rivals = {f"r{n}": [0.4] * 10 for n in range(6)}
    said = leading(compare({"a": HIGH, **rivals})).replace("\u202f", " ")
    assert said.endswith("r3 40.0 % and 2 others 40.0 %.")


def test_of_equal_leaders_the_sentence_names_the_one_it_is_about() -> None:
    """*It* would be either of them."""
    said = verdict(section({"a": HIGH, "b": HIGH, "c": LOW}))
    assert "a and b each delivered" in said
    assert "a is better than c by " in said
    few = verdict(section({"a": HIGH[:3], "b": HIGH[:3], "c": LOW[:3]}))
    assert "a is ahead of c by " in few


def test_every_word_of_a_table_is_explained() -> None:
    comparison = compare({"a": HIGH, "b": HIGH, "c": LOW, "d": MIXED, "e": HIGH[:1]})
    words = {comparison.word(name) for name in "abcde"}
    assert words == {HIGHEST, SAME_VALUE, WORSE, UNCLEAR, ONE_SEED}
    assert {word for word, _ in words_of(ranking(comparison))} == words


def test_five_that_are_behind_are_all_named() -> None:
    rivals = {f"r{n}": [0.9 - n / 10] * 10 for n in range(5)}
    said = leading(compare({"a": HIGH, **rivals})).replace("\u202f", " ")
    assert said.endswith("; r0 90.0 %, r1 80.0 %, r2 70.0 %, r3 60.0 % and r4 50.0 %.")


def test_copies_do_not_make_lanes_unequal() -> None:
    lanes = {"a": footing(64, 2), "b": footing(32, 2, copies="spare"), "c": footing(32, 2)}
    said = equal_lanes(compare({"a": HIGH, "b": LOW, "c": [0.2] * 10}, footings=lanes))
    assert "On equal lanes (32/2): b" in said


def test_a_page_has_the_sentences_of_lanes_rates_and_who_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    footings = {"a": footing(64, 2, "rates"), "b": footing(32, 2, "contacts"), "c": footing(32, 2)}
    samples = {"a": HIGH, "b": LOW, "c": [0.2] * 10}
    made = compare(samples, footings=footings, missing={"z": "not run"})
    monkeypatch.setattr("dstcc.report.verdict.compare", lambda _: made)
    monkeypatch.setattr("dstcc.report.verdict.compare_pooled", lambda _: made)
    sentences = (equal_lanes(made), without_rates(made), "Not ranked: z (not run).")
    pooled: Any = None
    for said in (verdict(section(samples)), pooled_verdict(pooled)):
        assert all(one and one in said for one in sentences)


def test_nothing_is_said_against_the_leader_as_reference() -> None:
    assert "Against" not in verdict(replace(section({"a": HIGH, "b": LOW}), against="a"))


def test_trials_that_failed_are_counted() -> None:
    one = section({"a": HIGH, "b": [None, *LOW[1:]]})
    assert verdict(one).endswith("1 of 20 trials failed and is left out; b not compared.")
    two = section({"a": HIGH, "b": [None, None, *LOW[2:]]})
    assert verdict(two).endswith("2 of 20 trials failed and are left out; b not compared.")


def test_without_trials_or_values_there_is_nothing_to_compare() -> None:
    assert verdict(section({"a": [None, None]})) == "No trial finished: there is nothing to compare."
    said = verdict(section({"a": HIGH}, key="playback_ratio"))
    assert said == "The trials finished, but none has a value of what was played."


def test_equals_of_those_that_are_named_are_not_less() -> None:
    equal = {f"r{n}": [0.4] * 10 for n in range(7)}
    made = compare({"a": HIGH, **equal})
    assert _ranked(made, list(equal)).endswith("r3 40.0\u202f% and 3 others with no more")
    unequal = {f"r{n}": [0.4 - n / 100] * 10 for n in range(7)}
    assert _ranked(compare({"a": HIGH, **unequal}), list(unequal)).endswith(
        "r3 37.0\u202f% and 3 others less"
    )


def test_scenarios_of_few_seeds_are_few_seeds_together() -> None:
    first = section({"a": HIGH[:9], "b": LOW[:9]}, name="one")
    second = section({"a": HIGH, "b": LOW}, name="two")
    few = pool(Report((first, second)))
    many = pool(Report((second, replace(second, runs=second.runs))))
    assert few is not None and many is not None
    assert "With 9 seeds or more a scenario the intervals cover less than 95 %" in pooled_verdict(few)
    assert "less often" not in pooled_verdict(many)


def test_a_doubt_is_minded_where_there_is_one() -> None:
    samples = {"dstcc-lanes": HIGH, "b": MIXED}
    doubted = verdict(section(samples, controllers=["dstcc-lanes"], trained_on=["here"]))
    assert "Mind that dstcc-lanes was trained on here." in doubted
    assert "Mind that" not in verdict(section(samples))
