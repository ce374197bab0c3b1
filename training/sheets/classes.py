"""The defect classes, in the order of the network's score rows."""

CLASS_NAMES = ("scratch", "pit", "dent", "stain")
SCRATCH, PIT, DENT, STAIN = range(4)
