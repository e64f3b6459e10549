"""What knowing and learning are worth: the ladder of senders on scenarios whose channels change.

Six rungs steer the same coded transport (``CodedStepper``) and differ in what they know: a clairvoyant bound, a planner
that knows the channel's loss model and its true state as late as feedback comes, the same planner on a belief from
acknowledgements, constants in hindsight, tuned rules, and random choice.
"""
