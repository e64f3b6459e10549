"""A README on its paper's page: headings below the page's own, no HTML of its own, no links that lead nowhere."""

from __future__ import annotations

from dstcc.papers.write import prose


def test_a_readme_becomes_a_part_of_the_page() -> None:
    page = prose(
        "# title\n\n## Deviations\n\n| a | b |\n|---|---|\n| <b>1</b> | `x` |\n\n"
        "See [the rule](../docs/rule.md) and [a site](https://example.org).\n"
    )
    assert "title" not in page and "<h3>Deviations</h3>" in page
    assert "&lt;b&gt;1&lt;/b&gt;" in page and "<td><code>x</code></td>" in page
    assert "See the rule and" in page and '<a href="https://example.org">a site</a>' in page
    assert page.count('<div class="scroll"') == page.count("</table></div>") == 1
