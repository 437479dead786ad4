"""SQR: lost packets, buffers and costs measured between two hosts, two nodes and two paths."""
