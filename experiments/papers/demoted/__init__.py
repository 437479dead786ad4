"""x-demoted: SD-FAST whose packets that met a failure wait in Kuijia's victim queue, beyond both papers."""
