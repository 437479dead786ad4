"""PSO's Policy Map Table (PMT): which OpenFlow message or data packet goes first. Pure: values in, values out."""
