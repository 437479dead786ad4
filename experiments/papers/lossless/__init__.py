"""x-lossless: SD-FAST with SQR at the switches beside a failed link, beyond both papers."""
