"""Schemes side by side."""
