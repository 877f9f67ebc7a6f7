"""One file per live framework; none knows another."""
