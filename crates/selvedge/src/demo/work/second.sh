#!/bin/sh
# Says a number of seconds as people do.
text=

# part NUMBER UNIT
part() {
    [ "$1" -eq 0 ] || text="$text $1$2"
}

part $(($1 / 3600)) h
part $(($1 / 60 % 60)) m
part $(($1 % 60)) s
text=${text# }
echo "${text:-0s}"
