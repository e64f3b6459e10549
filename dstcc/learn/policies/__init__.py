"""Policies: weights to decisions, their file, and a trial under one; the shipped ones lie beside the code."""
