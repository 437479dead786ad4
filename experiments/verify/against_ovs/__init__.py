"""The interpreter held to a real Open vSwitch: same plans, same packets, same answers, or a difference is named."""
