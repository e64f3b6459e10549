"""From what is expected of a channel to shares of repair: the planner that every believing baseline shares.

A block of layer m has n objects in k packets of S bytes and gets r repair packets of b bytes; N = k + r. Under the
loss probability p, with X ~ Bin(N, p),

    q(r, p) = sum over x > r of P(X = x) (1 - (1 - (k/n)/N)^x)      an object is lost (coding/repair_rule.hpp)
    d(r, p) = sum over x > r of P(X = x) (x - r) / (1 - p)          fresh packets that the block asks for
    u(p)    = 1 - (1 - p)^(k/n)                                     an object loses a packet

Of the block's objects a share i is captured late enough to be brought back by repair that leaves with the block's end,
and a share j <= i even by fresh packets a round trip later, which fail with the probability e. An object is lost with

    l(r, p) = (1 - i) u(p) + i q(r, p) - j (1 - e) q(r, p)

and a layer counts with all below it, under one p. With a price z of a byte, from the highest layer down

    g_m(p) = (1 - l_m(r_m, p)) (n w_m + g_{m+1}(p))
    r_m    maximises the mean over p of g_m - z b (r + d(r, p)); the layer is wanted if that is above z S_m.
           Of what is not wanted some may go nevertheless, and has the r of the most g_m a byte

The price is that at which the links carry what is wanted. A layer can wait for T (playout delay less light), so that
what is captured within a horizon H is to leave within H + T, and what waits now with it: the bytes of the blocks that
begin in H, in steps with a belief for each, and of the backlog of wanted layers are no more than C (H + T).
H is T and a round trip: until then a decision of now will have been acknowledged or reported lost. With bytes to spare
the price is next to nothing. Every slot plans anew, and uses the shares of the first step.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from dstcc.arrays import Float64Array

from .channels import GRID, POINTS, on_grid
from .seen import Blocks, Mission, RepairDecision, Seen

STEPS = 6
"""Of the horizon."""
CANDIDATES = np.concatenate(
    [np.arange(0, 0.24, 0.01), np.arange(0.24, 0.48, 0.03), np.arange(0.5, 1.01, 0.05), [1.2, 1.5]]
)
"""Shares of repair that are looked at."""
PRICES = np.concatenate(
    [[1e-3, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5], np.arange(0.55, 1.15, 0.05), [1.3, 1.6, 2, 3, 5]]
)
"""Of a byte, in units of what one of the highest layer brings; the first stands for rate to spare."""
GOLDEN = (5**0.5 - 1) / 2
"""Multiples of it modulo 1 are spread evenly: each share of time is taken as regularly as can be."""
FRESH_FAILS = 0.02
"""e: one in a hundred by the rule of fresh packets, and as much for a channel that has become worse."""


class TailTables:
    """q, d and u of a layer's blocks, by candidate and point of the grid."""

    def __init__(self, blocks: Blocks) -> None:
        from scipy.stats import binom

        source = max(round(blocks.source), 1)
        each = min(blocks.source / max(blocks.objects, 1e-9), source)
        self.packets = np.unique(np.ceil(CANDIDATES * source - 1e-9).astype(int))
        """Repair packets of each candidate."""
        self.share = self.packets / source
        self.lost = np.zeros((POINTS, len(self.packets)))
        self.fresh = np.zeros_like(self.lost)
        for i, repair in enumerate(self.packets):
            n = source + int(repair)
            x = np.arange(int(repair) + 1, n + 1)
            chance = binom.pmf(x, n, GRID[:, None])
            self.lost[:, i] = (chance * (1 - np.maximum(1 - each / n, 0.0) ** x)).sum(axis=1)
            self.fresh[:, i] = (chance * (x - repair)).sum(axis=1) / (1 - GRID)
        self.touched = 1 - (1 - GRID) ** each


@lru_cache(32)
def tables_of(blocks: Blocks) -> TailTables:
    """Those of a layer, which many planners of a mission share."""
    return TailTables(blocks)


class Planner:
    """Shares of repair for K trials of a mission."""

    def __init__(self, mission: Mission) -> None:
        self._mission = mission
        self._tables = [tables_of(blocks) for blocks in mission.layers]
        top = mission.layers[-1]
        self._unit = top.weight * top.objects / top.source_bytes
        shares = mission.rate_bytes / mission.rate_bytes.sum(axis=1, keepdims=True)
        self._turn = 0.0
        self._folds = [_Fold(shares[:, : s + 2]) for s in range(mission.subflows - 1)]

    def times(self, now_s: Float64Array) -> Float64Array:
        """(K, steps): the times for which beliefs are wanted."""
        span = self._horizon()
        return np.asarray(now_s[:, None] + span[:, None] * (np.arange(STEPS) / STEPS))

    def _waiting(self) -> Float64Array:
        """(K,): T."""
        mission = self._mission
        return np.asarray(np.maximum(mission.playout_s - mission.light_s.min(axis=1), mission.block_s))

    def _horizon(self) -> Float64Array:
        """(K,): H."""
        return np.asarray(self._waiting() + 2 * self._mission.light_s.max(axis=1))

    def plan(self, seen: Seen, beliefs: Float64Array) -> RepairDecision:
        """``beliefs``: (K, subflows, steps, points), for :meth:`times`."""
        mission = self._mission
        belief = beliefs[:, 0]
        for s, fold in enumerate(self._folds):
            belief = fold(belief, beliefs[:, s + 1])
        carried = seen.pace_bytes.sum(axis=1)
        back, fresh = self._timely_shares(seen)
        horizon = self._horizon()
        supply = carried * (horizon + self._waiting())
        # What waits, in units of the source bytes of a block's time, for each of the horizon's blocks.
        blocks = horizon / mission.block_s
        source = np.array([one.source_bytes for one in mission.layers])
        more = seen.backlog_bytes / source / blocks[:, None]
        # The least price at which all that is wanted fits, found by halves: what is wanted falls with the price.
        low, high = np.zeros(len(supply), dtype=int), np.full(len(supply), len(PRICES) - 1)
        while (low < high).any():
            middle = (low + high) // 2
            fits = self._bytes(belief, middle, back, fresh, more) * blocks <= supply
            high, low = np.where(fits, middle, high), np.where(fits, low, np.minimum(middle + 1, high))
        # At the price below, more is wanted than fits: so often that both together are what fits it is taken.
        below = np.maximum(low - 1, 0)
        over = self._bytes(belief, below, back, fresh, more) * blocks
        spare = supply - self._bytes(belief, low, back, fresh, more) * blocks
        self._turn = (self._turn + GOLDEN) % 1.0
        often = np.clip(spare / np.maximum(over - supply + spare, 1e-9), 0, 1)
        price = PRICES[np.where(self._turn < often, below, low)] * self._unit
        return RepairDecision(self._wanted(belief[:, :1], price, back, fresh, more)[0][:, 0])

    def _bytes(
        self, belief: Float64Array, price: Any, back: Float64Array, fresh: Float64Array, more: Float64Array
    ) -> Float64Array:
        """(K,): of a block's time, on average over the horizon, at the price of that number."""
        return np.asarray(self._wanted(belief, PRICES[price] * self._unit, back, fresh, more)[1].mean(axis=1))

    def _timely_shares(self, seen: Seen) -> tuple[Float64Array, Float64Array]:
        """(K, layers): i and j, the shares of a block's objects for which repair, and fresh packets, are in time.

        What leaves now of a layer has the slack of the oldest that waits, or all of the playout delay.
        """
        mission = self._mission
        slack = np.minimum(seen.slack_s, mission.playout_s[:, None])
        left = slack - mission.light_s.min(axis=1)[:, None]
        round_trip = seen.rtt_s.min(axis=1)[:, None]
        return np.clip(left / mission.block_s, 0, 1), np.clip((left - round_trip) / mission.block_s, 0, 1)

    def _wanted(
        self,
        belief: Float64Array,
        price: Float64Array,
        back: Float64Array,
        fresh: Float64Array,
        more: Float64Array,
    ) -> tuple[Float64Array, Float64Array]:
        """(K, steps, layers) shares of repair, and (K, steps) bytes of a block's time, at a price a trial.

        ``more``: (K, layers) of each block's bytes that there are to send beside them, which wait.
        """
        trials, steps, _ = belief.shape
        layers = self._mission.layers
        shares = np.zeros((trials, steps, len(layers)))
        bytes_ = np.zeros((trials, steps))
        above = np.zeros((trials, steps, POINTS))
        cost = price[:, None]
        for m in reversed(range(len(layers))):
            blocks, table = layers[m], self._tables[m]
            i, j = back[:, m, None, None], (fresh[:, m] * (1 - FRESH_FAILS))[:, None, None]
            asks = (fresh[:, m] > 0)[:, None, None]
            worth = blocks.objects * blocks.weight + above
            mass = belief * worth
            kept = (1 - i) * (mass @ (1 - table.touched))[..., None] + i * (mass @ (1 - table.lost))
            kept = kept + j * (mass @ table.lost)
            repair = table.packets + np.where(asks, belief @ table.fresh, 0.0)
            net = kept - cost[..., None] * repair * blocks.packet_bytes
            wanted = net.max(axis=-1) > cost * blocks.source_bytes
            dense = kept / (blocks.source_bytes + repair * blocks.packet_bytes)
            best = np.where(wanted, net.argmax(axis=-1), dense.argmax(axis=-1))
            shares[..., m] = table.share[best]
            sent = (
                blocks.source_bytes
                + np.take_along_axis(repair, best[..., None], -1)[..., 0] * blocks.packet_bytes
            )
            bytes_ += np.where(wanted, sent, 0.0) * (1 + more[:, m, None])
            lost = table.lost.T[best]
            arrives = (1 - i) * (1 - table.touched) + i * (1 - lost) + j * lost
            above = np.where(wanted[..., None], arrives * worth, 0.0)
        return shares, bytes_


class _Fold:
    """The loss probability of packets that go over two paths, the first of which may be several."""

    def __init__(self, shares: Float64Array) -> None:
        """``shares``: (K, paths so far), of the rate."""
        new = shares[:, -1] / shares.sum(axis=1)
        self._same = bool(np.ptp(new) < 1e-9)
        pairs = [
            on_grid((1 - share) * GRID[:, None] + share * GRID[None, :]).reshape(POINTS * POINTS, POINTS)
            for share in (new[:1] if self._same else new)
        ]
        self._pairs = np.stack(pairs)

    def __call__(self, one: Float64Array, other: Float64Array) -> Float64Array:
        both = (one[..., :, None] * other[..., None, :]).reshape(*one.shape[:-1], POINTS * POINTS)
        if self._same:
            return np.asarray(both @ self._pairs[0])
        return np.asarray(np.einsum("khi,kip->khp", both, self._pairs))
