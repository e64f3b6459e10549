"""Published experiments done again: what a paper says, beside what comes out here.

A paper is a folder with ``figures.toml`` (which cells make each figure), ``published.toml`` (each number with its place
in the text, and how it is measured), the scenarios, and a README with the deviations.
"""
