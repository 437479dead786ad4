"""SQR as rule plans: virtual ports before the primaries, and ways on for what they give back."""
