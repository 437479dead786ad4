"""What trials of kind "sweep" compute, one file each: parameters, columns of the row, and the function between them."""
