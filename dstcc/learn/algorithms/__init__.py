"""The algorithms of ``dstcc train``: a recipe each, and the learners that recipes name."""
