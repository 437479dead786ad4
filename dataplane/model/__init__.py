"""Pure reference models of SQR (the paper's switch and our byte ring) and of 1+1 protection; no clock, no dice."""
