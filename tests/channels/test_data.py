"""The tables' reader, and how a message lists what is known."""

from __future__ import annotations

from dstcc_channels.data import nearest, rows


def test_comments_are_no_rows() -> None:
    table = rows("elements.csv")
    assert [row["body"] for row in table][:3] == ["mercury", "venus", "earth-moon"]
    assert table[0]["a_au"] == "0.38709927"


def test_a_message_lists_at_most_forty_names_and_the_nearest() -> None:
    names = [f"name-{number:02}" for number in range(41)]
    assert nearest("x", names[:40]) == f"allowed: {', '.join(names[:40])}"
    assert nearest("x", iter(names)) == f"allowed: {', '.join(names[:40])}, ..."
    assert (
        nearest("goldstoen", ["madrid", "goldstone"])
        == "did you mean 'goldstone'? allowed: madrid, goldstone"
    )
    # half of the letters in common are enough, and one suggestion
    assert nearest("abxx", ["abyy", "abcd"]).startswith("did you mean 'ab")
    assert nearest("axxx", ["ayyy"]) == "allowed: ayyy"
    assert nearest(7, ["a"]) == "allowed: a"
