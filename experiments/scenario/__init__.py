"""What an experiment is: a scenario file read into frozen values. Pure; `docs/scenario_format.md` is the manual."""
