"""The folders of Armor's repository, in an installed wheel; in the repository nothing (docs/decisions/wheel.md)."""
