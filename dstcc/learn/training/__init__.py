"""A training from its first step to its last: episodes side by side, evaluations, curves, checkpoints."""
