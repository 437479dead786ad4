"""Sender, echo and cross traffic: what they send, and what their reports say, decided without acting."""
