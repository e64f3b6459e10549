"""The value of side information and of learning, in scenarios whose channels change.

Six baselines steer the same coded transport (``CodedStepper``) with different side information: a clairvoyant bound, a
planner configured with the channel's loss model and its true state as late as feedback comes, the same planner on a
belief from acknowledgements, constants in hindsight, tuned rules, and random choice.
"""
