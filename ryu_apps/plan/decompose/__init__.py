"""Decomposition of flow tables (Kuijia section 4.3): one logical table, three shapes that a switch can hold."""
