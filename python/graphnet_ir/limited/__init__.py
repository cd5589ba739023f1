"""Processes under limits of time, memory and output, which end with all that they started."""
