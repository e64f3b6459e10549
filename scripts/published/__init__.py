"""Published tables beside what their commands print: :mod:`scripts.figures`."""
