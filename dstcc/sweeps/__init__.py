"""Sweeps: a grid of scenarios × algorithms × seeds, carried out on many cores or machines, and kept in one folder."""
