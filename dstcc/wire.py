"""What a packet weighs on the wire beside its payload. Imports nothing: guests read it, too."""

HEADER_BYTES = 40
"""IPv4 and TCP without options, which are free: of a data packet, and the whole of a SYN, its answer and a pure ACK."""
