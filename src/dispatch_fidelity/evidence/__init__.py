"""Do the files belong together, and how far do they carry."""
