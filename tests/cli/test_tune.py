"""``dstcc tune`` as a user meets it: a variant to append, a document, errors."""

from __future__ import annotations

import json

import pytest
from dstcc_cli.main import main
from dstcc_cli.tune import command

from dstcc.scenario import load_scenario
from dstcc.tune import SEEDS
from tests.quick import QUICK


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "far.toml"
    path.write_text(
        QUICK.replace("delay_s = 0.05", "delay_s = 100").replace("loop_to_s = 5", "loop_to_s = 900")
    )
    return path


def tune(*words, code=0):
    with pytest.raises(SystemExit) as ended:
        main(["tune", *map(str, words)])
    assert ended.value.code == code


def test_the_output_is_a_variant_of_the_scenario(scenario, capsys):
    tune(scenario, "--congestion", "newreno", "--seeds", "901")
    out, err = capsys.readouterr()
    assert "dstcc: newreno: mean weighted_layers of seeds 901 to 901" in err and "as it comes" in err
    assert out.startswith("# dstcc tune, seeds 901 to 901: weighted_layers ")
    scenario.write_text(scenario.read_text() + out)
    (variant,) = load_scenario(scenario).variant
    assert (variant.label, variant.chosen_on) == ("tuned newreno", (901, 901))
    tune(scenario, "--congestion", "newreno", "--seeds", "901-901", "--json")
    (found,) = json.loads(capsys.readouterr().out)["tuned"]
    assert (found["set"], found["chosen_on"]) == (variant.set, [901, 901])
    assert found["weighted_layers"] > found["untuned"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("none.toml", "--congestion", "cubic"), "no such scenario file"),
        (("SCENARIO", "--congestion", "cubik"), "did you mean 'cubic'?"),
        (("SCENARIO", "--congestion", "cubic", "--seeds", "9-1"), "must be FIRST-LAST, like 901-905"),
        (("SCENARIO",), "Missing option '--congestion'"),
    ],
)
def test_bad_input_is_one_error(scenario, capsys, words, said):
    tune(*(scenario if word == "SCENARIO" else word for word in words), code=2)
    assert said in capsys.readouterr().err


def test_the_seeds_are_those_that_no_published_comparison_uses():
    (option,) = (one for one in command.params if one.name == "seeds")
    assert option.type.convert(option.default, option, None) == SEEDS
