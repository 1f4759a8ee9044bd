#!/bin/sh
# Says a number of seconds as people do.
seconds=$1
printf '%dh %dm %ds\n' $((seconds / 3600)) $((seconds / 60)) $((seconds % 60))
