"""How many repair segments a matrix of ltp gets after a known history (engine/src/ltp/rate_rule.hpp)."""

from __future__ import annotations

import pytest

from dstcc.engine import _testing

LtpRule = _testing.coding.LtpRule
STATES = 512


def feedback(**more: object):
    return LtpRule("delayed-feedback", **more)


class TestShares:
    def test_are_rounded_up_and_of_their_layer(self):
        rule = LtpRule("", shares=[0.1, 0.0])
        assert [rule.repair(k) for k in (1, 10, 11, 100)] == [1, 1, 2, 10]
        assert [rule.codes(layer) for layer in (0, 1, 2)] == [True, False, False]

    def test_are_no_more_than_the_code_has(self):
        assert LtpRule("", shares=[4.0]).repair(100, most=50) == 50


class TestDelayedFeedback:
    def test_begins_with_the_highest_rate_less_its_margin(self):
        # s = 8/9; 1 - 1.15/9 = 0.87222; 100 / 0.87222 = 114.65
        assert feedback().repair(100) == 15

    def test_a_large_matrix_counts_half(self):
        # s = (1 + 8/9) / 2 = 17/18, a rate of 1 - 1.15/18 = 0.936, beyond 8/9: 100 x 9/8 = 112.5
        rule = feedback()
        rule.heard(115, 115, True)
        assert rule.expected_success == pytest.approx(17 / 18)
        assert rule.repair(100) == 13

    def test_a_small_one_by_its_segments(self):
        # w = 13/65 / 2 = 0.1: s = 0.1 x 10/13 + 0.9 x 8/9
        rule = feedback()
        rule.heard(13, 10, True)
        assert rule.expected_success == pytest.approx(0.1 * 10 / 13 + 0.8)

    def test_one_that_was_not_decoded_is_all_that_counts(self):
        # 85 of 115: a rate of 1 - 1.15 x 30/115 = 0.7; 100 / 0.7 = 142.86
        rule = feedback()
        rule.heard(115, 115, True)
        rule.heard(115, 85, False)
        assert rule.expected_success == pytest.approx(85 / 115)
        assert rule.repair(100) == 43

    def test_then_it_recovers_by_halves(self):
        # s = (1 + 85/115) / 2 = 0.8696: a rate of 0.85; 100 / 0.85 = 117.65
        rule = feedback()
        rule.heard(115, 85, False)
        rule.heard(143, 143, True)
        assert rule.repair(100) == 18

    def test_the_rate_is_two_thirds_at_least(self):
        rule = feedback()
        rule.heard(100, 10, False)
        assert rule.repair(100) == 50

    def test_raptorq_gets_two_more(self):
        assert feedback(raptorq=True).repair(100) == 17

    def test_codes_every_layer_however_few_shares_there_are(self):
        assert feedback().codes(7)


class TestAuto:
    def test_goes_by_the_losses_that_feedback_tells(self):
        calm, rough = LtpRule("auto"), LtpRule("auto")
        for _ in range(20):
            calm.heard(100, 100, True)
            rough.heard(100, 90, True)
        assert calm.repair(100) < LtpRule("auto").repair(100) < rough.repair(100)

    def test_is_bounded_by_what_the_link_carries(self):
        # Losses that come fifty at a time want hundreds of segments; of 130 there is room for 30 beside the source, and
        # each further one costs a part of the whole.
        rule = LtpRule("auto")
        for lost in (50, 0, 0, 0) * 5:
            rule.heard(200, 200 - lost, lost == 0)
        assert rule.repair(100) > 60
        assert rule.repair(100, segments=130.0) <= 30


class TestTable:
    def test_levels_of_loss(self):
        levels = [LtpRule.level(x) for x in (0.0, 0.005, 0.01, 0.011, 0.02, 0.03, 0.05, 0.1, 0.2, 1.0)]
        assert levels == [1, 2, 2, 3, 3, 4, 5, 6, 7, 7]

    def test_nothing_heard_is_a_state_of_its_own(self):
        assert LtpRule("table", table=[0.3] + [0.1] * (STATES - 1)).repair(100) == 30

    def test_the_state_is_last_mean_of_eight_and_most_of_thirty_two(self):
        rule = LtpRule("table", table=[0.0] * STATES)
        rule.heard(100, 80, False)  # 20 %: level 7
        assert rule.state == 7 * 64 + 7 * 8 + 7
        for _ in range(8):
            rule.heard(100, 100, True)  # level 1, and the mean of the last eight, too
        assert rule.state == 64 + 8 + 7
        for _ in range(23):
            rule.heard(100, 100, True)
        assert rule.state == 64 + 8 + 7  # the 32nd before
        rule.heard(100, 100, True)
        assert rule.state == 64 + 8 + 1

    def test_the_share_of_the_state_is_rounded_up(self):
        table = [0.0] * STATES
        table[64 + 8 + 1] = 0.055
        rule = LtpRule("table", table=table)
        rule.heard(100, 100, True)
        assert rule.repair(100) == 6
