"""What a sender finds out about its paths from its own queue, from acknowledgements and from losses."""
