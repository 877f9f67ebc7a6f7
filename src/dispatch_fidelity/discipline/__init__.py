"""One level out: did the project's checks run, on this code? ``gate`` writes, ``verify`` only reads."""
