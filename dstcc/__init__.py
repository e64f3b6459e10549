"""dstcc."""
