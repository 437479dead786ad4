"""Trials on emulated networks: a session builds a network once, its trials run one after another, each gives a row."""

from experiments.laboratory.calibrate import measure_calibration
from experiments.laboratory.runners import make_runners

__all__ = ["make_runners", "measure_calibration"]
