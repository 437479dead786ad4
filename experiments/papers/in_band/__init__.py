"""x-in-band: control over the data links of real switches, with classes (PSO) and without."""
