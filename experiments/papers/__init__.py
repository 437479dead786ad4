"""What each paper claims: trials, claims and pictures, by id."""
