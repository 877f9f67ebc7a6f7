"""Words of seven languages, one file each; data only."""
