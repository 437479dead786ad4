"""Kinds of trials, one file each: what decides such a trial, how long it takes, and what runs it."""
