"""Bring a topology to life with Mininet and Open vSwitch, break it on purpose, and leave nothing behind.

Importing this needs neither root nor Mininet; entering an `emulation.network.EmulatedNetwork` needs both.
"""
