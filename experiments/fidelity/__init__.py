"""The simulator beside the kernel: the same transfers and missions on both, and how far they are apart."""
