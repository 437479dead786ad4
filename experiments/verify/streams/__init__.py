"""Streams of packets while links fail: what packet buffers and 1+1 protection deliver."""
