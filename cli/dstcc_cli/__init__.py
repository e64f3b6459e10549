"""The ``dstcc`` command line: one thin module per command."""
