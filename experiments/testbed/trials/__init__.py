"""Trials on emulated networks: a session builds a network once, its trials run one after another, each gives a row."""
