"""What a sender learns of its paths: from its own queue, from acknowledgements and from losses."""
