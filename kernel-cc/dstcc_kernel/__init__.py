"""Scenarios on the real Linux kernel: its MPTCP, its netem, its congestion controls and ours.

The kernel runs in virtual time as a program of its own (User-Mode Linux), without root and without waiting
for the light, or is the machine's own, at scaled time. Nothing else of dstcc imports this package at start:
what it needs (Linux, a built kernel) is asked for when a command wants it.
"""
