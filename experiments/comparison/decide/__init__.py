"""What a comparison computes and says."""
