"""Protection below OpenFlow: 1+1 (P4-Protect), SQR, and the delay line; `model` holds what they are tested against."""
