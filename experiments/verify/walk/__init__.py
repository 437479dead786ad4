"""Packets walked through plans one by one: the readable way, and the reference of the compiled one."""
